import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../../testing/command-line.js';
import { createStyle } from '../../core/render/style.js';
import { judge } from './judge.js';
import type { Situation } from './judge.js';
import { upgradeLines } from './lines.js';
import type { LiveRun } from './live-runs.js';
import { STEPS, stepsBehind } from './steps.js';

const run = (name: string, more: Partial<LiveRun> = {}): LiveRun => ({
  namespace: 'shop',
  name,
  phase: 'Running',
  workflowId: `dr/c/shop/${name}/1`,
  isSealed: true,
  release: '0.1.0',
  inputEncoding: 'json/plain',
  build: { deploymentName: 'drover-c', buildId: '0.1.0-aaaaaaaaaaaa', isPinned: false },
  ...more,
});
const pinnedTo = (buildId: string): Partial<LiveRun> => ({
  build: { deploymentName: 'drover-c', buildId, isPinned: true },
});
const running = (version: string, program: 'bridge' | 'worker' = 'worker') => ({
  program,
  where: 'Temporal',
  version,
  build: `${version}-aaaaaaaaaaaa`,
  processes: 1,
});
const situation = (more: Partial<Situation> = {}): Situation => ({
  target: { version: '0.2.0', build: '0.2.0-bbbbbbbbbbbb' },
  kept: [],
  programs: [running('0.1.0', 'bridge'), running('0.1.0')],
  definitions: [{ kind: 'DRPlan', state: 'same', lacks: [], beyond: [] }],
  runs: [],
  ...more,
});
const style = createStyle({ color: false, unicode: true });
const linesOf = (of: Situation): string[] => upgradeLines(of, judge(of), { style, now: 0 });

describe('an upgrade', () => {
  it('is safe under live runs that any build may carry on', () => {
    const now = situation({ runs: [run('a'), run('b')] });
    expect(judge(now)).toMatchObject({ from: '0.1.0', direction: 'upgrade', isSafe: true, obstacles: [] });
    expect(linesOf(now).at(-1)).toBe('safe now: 2 live runs go on with 0.2.0');
    expect(linesOf(situation()).at(-1)).toBe('safe now: nothing is under way with 0.2.0');
  });

  it('is not safe while a run is pinned to a build that nobody runs afterwards, unless that is kept', () => {
    const runs = [run('a', pinnedTo('0.1.0-aaaaaaaaaaaa')), run('b', pinnedTo('0.2.0-bbbbbbbbbbbb'))];
    const now = situation({ runs });
    expect(judge(now)).toMatchObject({
      isSafe: false,
      obstacles: [{ reason: 'pinned', runs: ['shop/a'] }],
    });
    expect(linesOf(now).at(-1)).toMatch(
      /^not now: 1 run is pinned to build "0\.1\.0-aaaaaaaaaaaa".*shop\/a.*keep workers of that build.*--keep 0\.1\.0-aaaaaaaaaaaa/,
    );
    expect(judge(situation({ runs, kept: ['0.1.0-aaaaaaaaaaaa'] })).isSafe).toBe(true);
  });

  it('is not safe over two minor versions at once', () => {
    const { obstacles } = judge(situation({ programs: [running('0.1.0')], target: { version: '0.3.0' } }));
    expect(obstacles).toMatchObject([
      { reason: 'skipped', what: expect.stringContaining('0.1.0') as string },
    ]);
    expect(judge(situation({ programs: [running('0.1.7')] })).isSafe).toBe(true);
  });

  it('says what to do about definitions, and what runs beside each other', () => {
    const notes = (more: Partial<Situation>): string => judge(situation(more)).notes.join('\n');
    expect(
      notes({ definitions: [{ kind: 'DRPlan', state: 'older', lacks: ['spec.a'], beyond: [] }] }),
    ).toContain('bring the definitions up to date before');
    expect(
      notes({ definitions: [{ kind: 'DRPlan', state: 'newer', lacks: [], beyond: ['spec.b'] }] }),
    ).toContain('leave the definitions as they are');
    expect(notes({ programs: [running('0.1.0'), running('0.1.4', 'bridge')] })).toContain(
      'several versions run beside each other: 0.1.0, 0.1.4',
    );
    expect(notes({ programs: [running('0.1.0')] })).toContain('no bridge has asked Temporal');
    expect(notes({ runs: [run('a', { failing: 'nondeterminism' })] })).toContain(
      '1 run stands still already',
    );
    expect(notes({ target: { version: '0.1.0' } })).toContain('0.1.0 runs already');
  });
});

describe('the way back', () => {
  const back = (runs: LiveRun[], to = '0.0.9') => judge(situation({ target: { version: to }, runs }));

  it('is barred by every step that a live run has taken, and by none that it has not', () => {
    const reasons = (runs: LiveRun[]): string[] => back(runs).obstacles.map(({ reason }) => reason);
    expect(reasons([run('a')])).toEqual(['seals', 'queues', 'envelope']);
    expect(reasons([run('a', { inputEncoding: 'binary/zlib' })])).toContain('compression');
    expect(reasons([run('a', { isSealed: false })])).toEqual(['queues', 'envelope']);
    const { release: _, ...old } = run('old', { isSealed: false });
    expect(reasons([old])).toEqual([]);
    const { workflowId: __, ...waiting } = run('waiting');
    expect(reasons([waiting])).toEqual([]);
    expect(back([run('a')])).toMatchObject({ direction: 'downgrade', isSafe: false });
    expect(back([])).toMatchObject({ direction: 'downgrade', isSafe: true });
  });

  it('is free where no step lies between', () => {
    expect(stepsBehind('0.1.0')).toEqual([]);
    expect(
      judge(situation({ programs: [running('0.1.1')], target: { version: '0.1.0' }, runs: [run('a')] })),
    ).toMatchObject({ direction: 'downgrade', isSafe: true });
  });

  it('has every step in the changelog of its release, and in the manual', () => {
    const manual = readFileSync('docs/upgrading.md', 'utf8');
    const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
    for (const { id, since } of STEPS) {
      expect(
        sections.find((section) => section.startsWith(since)),
        since,
      ).toContain(`\`${id}\``);
      expect(manual).toContain(`\`${id}\``);
    }
  });
});

describe('drover upgrade', () => {
  it('changes nothing, and says what does', async () => {
    const { program } = commandLine();
    await expect(program.parseAsync(['upgrade'], { from: 'user' })).rejects.toMatchObject({
      message: expect.stringContaining('only looks') as string,
      exitCode: 64,
    });
  });

  it.each([
    ['abc', /no version.*MAJOR\.MINOR\.PATCH/],
    ['99.0.0', /does not know what 99\.0\.0 changes.*check with the command line of 99\.0\.0/],
  ])('refuses to look for %s', async (to, message) => {
    const { program } = commandLine();
    const error = await program.parseAsync(['upgrade', '--check', '--to', to], { from: 'user' }).then(
      () => undefined,
      (reason: unknown) => reason as Error & { hints: string[] },
    );
    expect(`${error?.message} ${error?.hints.join(' ')}`).toMatch(message);
  });
});
