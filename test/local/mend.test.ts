/** A test that kills, freezes or changes parts of the stack, and fails, does not take the next one with it. */
import { beforeAll, expect, it } from 'vitest';
import { readEndpoints } from '../../local/endpoints.js';
import { status } from '../../local/index.js';
import { dataPaths } from '../../local/paths.js';
import { heal, kill, mend } from '../support/parts.js';
import { servers } from '../support/servers.js';
import { poll } from '../support/stack.js';

const pids = async () => (await readEndpoints(dataPaths(servers.dataDir).endpoints))?.pids;
/** What a program answers, or why it does not. */
const answer = (program: 'bridge' | 'worker'): Promise<number | string> =>
  fetch(servers.endpoints.metrics[program] ?? '', { signal: AbortSignal.timeout(2000) }).then(
    ({ status: code }) => code,
    (error: unknown) => String(error),
  );

let changed: number | null | undefined;
beforeAll(async () => {
  await kill('bridge');
  await heal({ DROVER_LOG_LEVEL: 'warn' });
  const before = await pids();
  changed = before?.bridge;
  process.kill(before?.worker ?? NaN, 'SIGSTOP');
  await kill('apiserver');
  expect(await answer('worker')).toMatch(/TimeoutError/);
});

it('all parts run again, and with the settings of the beginning', { tags: ['nightly'] }, async () => {
  await mend();
  // What was connected to the API server connects again.
  const whole = await poll(
    () => status({ dataDir: servers.dataDir }),
    ({ summary }) => summary === 'up',
  );
  expect(whole.processes.map(({ state }) => state)).not.toContain('died');
  expect(await answer('worker')).toBe(200);
  expect(await answer('bridge')).toBe(200);
  const { bridge } = (await pids()) ?? {};
  expect(bridge).not.toBe(changed);
  await mend();
  expect((await pids())?.bridge).toBe(bridge);
});
