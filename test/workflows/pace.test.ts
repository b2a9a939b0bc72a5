/** How often a run tells its progress, as the bridge asks for it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { action, stages, startScriptedWorker, workflow } from '../support/scripted.js';
import type { ScriptedRun, ScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';

const NEVER_MS = 600_000;

let scripted: ScriptedWorker;
beforeAll(async () => {
  scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
});
afterAll(() => scripted.close());

const pause = (name: string) =>
  action(name, { type: 'Wait', step: { kind: 'timer', ms: 400 }, harmless: true });
const slowly = stages(
  { name: 'first', workflows: [workflow([pause('a'), pause('b'), pause('c'), pause('d'), pause('e')])] },
  { name: 'second', workflows: [workflow([pause('f'), pause('g'), pause('h')])] },
);
const toldBy = (run: ScriptedRun) => run.recording.mirrors.map(({ from }) => from);

describe.concurrent('a run', () => {
  it('tells what changes while nobody asks for less [S6.6]', async () => {
    const run = await scripted.run({ stages: slowly });
    await run.result();
    expect(toldBy(run).filter((from) => from === 0).length).toBeGreaterThan(2);
    expect(toldBy(run)).toContain(1);
  });

  it('tells as rarely as the answer to a step asks for, in stages that begin later too', async () => {
    const run = await scripted.run({ stages: slowly });
    run.recording.pace = { beginMs: NEVER_MS, intervalMs: NEVER_MS };
    const { phase } = await run.result();
    expect(phase).toBe('Succeeded');
    expect(toldBy(run).filter((from) => from === 0)).toHaveLength(1);
    expect(toldBy(run)).not.toContain(1);
  });

  it('begins as late as the start asks for, and is told in whole by its end', async () => {
    const run = await scripted.run({
      stages: slowly,
      mirror: { debounceMs: 50, intervalMs: 100, pace: { beginMs: NEVER_MS, intervalMs: 0 } },
    });
    await run.result();
    expect(toldBy(run)).toEqual([]);
    expect(run.recording.finish?.stages.map(({ status }) => status.phase)).toEqual([
      'Succeeded',
      'Succeeded',
    ]);
  });
});
