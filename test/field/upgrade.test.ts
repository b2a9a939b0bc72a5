/**
 * A worker is upgraded in the middle of runs: a change of workflow code that is guarded goes unseen, and one that is not is
 * seen, said and got out of.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import { startReplica } from '../bridge/replica.js';
import type { Replica } from '../bridge/replica.js';
import { drover } from '../support/drover.js';
import { heal, kill, mend } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { actionAt, condition, http, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
let replica: Replica;
let folder: string;
beforeAll(async () => {
  [stack, recorder, replica, folder] = await Promise.all([
    openStack('upgrade'),
    startRecorder(),
    // One that looks at runs every second.
    startReplica(),
    mkdtemp(join(tmpdir(), 'drover-upgrade-')),
  ]);
});
afterEach(mend);
afterAll(async () => {
  await recorder.close();
  await replica.stop();
  await stack.close();
  await rm(folder, { recursive: true, force: true });
});

/** Replaces exactly one place of a text. */
function change(text: string, from: RegExp, to: string): string {
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  return changed;
}

/** Upgrades the worker to another build of the workflow code. */
async function upgrade(buildId: string, edit: (code: string) => string): Promise<void> {
  const path = join(folder, `${buildId}.js`);
  await writeFile(path, edit(await readFile('dist/workflow-bundle.js', 'utf8')));
  await kill('worker');
  await heal({}, { DROVER_WORKFLOW_BUNDLE: path, DROVER_BUILD_ID: buildId });
}

/** A step that each stage begins with from now on, but for those that are under way. */
const guarded = (code: string): string =>
  change(
    code,
    /(async function drStage\(input\) \{)([^]*?)(_temporalio_workflow__WEBPACK_IMPORTED_MODULE_\d+__)/,
    "$1 if ((0,$3.patched)('upgraded')) await (0,$3.sleep)(20);$2$3",
  );

/** Another activity for HTTP actions, without a guard: histories that have begun one do not fit any more. */
const unguarded = (code: string): string =>
  change(code, /isAcronym \? type\.toLowerCase\(\)/, "isAcronym ? 'notify'");

const wait: Action = { name: 'wait', type: 'Wait', wait: { duration: '5s' } };
const progressing = (execution: DRPlanExecution) => condition(execution, 'Progressing');
const workflowIdOf = (execution: DRPlanExecution): string => execution.status?.temporal?.workflowId ?? '';
const stateOf = async (workflowId: string): Promise<string> =>
  (await stack.temporal.workflow.getHandle(workflowId).describe()).status.name;

describe('an upgrade of the worker under running runs', () => {
  it(
    'goes unseen where the change is guarded, and ends by --terminate where it is not [S5.51] [S5.59] [S6.21]',
    { tags: ['nightly'] },
    async () => {
      const [torn, whole] = [unique('torn'), unique('whole')];
      await stack.workflow(`${torn}-call`, {
        actions: [
          http('done', `${recorder.url}/${torn}/done`),
          http('hang', `${recorder.url}/${torn}/hang?delay=900000`, { timeout: '20m' }),
        ],
      });
      await stack.workflow(`${torn}-wait`, { actions: [wait, http('late', `${recorder.url}/${torn}/late`)] });
      await stack.plan(torn, {
        stages: [
          {
            name: 'only',
            parallel: true,
            workflows: [{ workflowRef: { name: `${torn}-call` } }, { workflowRef: { name: `${torn}-wait` } }],
          },
        ],
      });
      await stack.simplePlan(whole, [wait, http('after', `${recorder.url}/${whole}/after`)]);
      const [incompatible, patched] = await Promise.all([stack.execute(torn), stack.execute(whole)]);
      await Promise.all([
        stack.until(incompatible, (now) => actionAt(now, 0, 0, 1)?.phase === 'Running'),
        stack.until(patched, (now) => actionAt(now, 0, 0, 0)?.phase === 'Running'),
      ]);
      await upgrade('two', (code) => unguarded(guarded(code)));

      expect((await stack.ended(patched)).status).toMatchObject({ phase: 'Succeeded' });
      const failing = await stack.until(
        incompatible,
        (now) => progressing(now)?.reason === 'WorkflowTaskFailing',
      );
      expect(progressing(failing)?.message).toMatch(
        new RegExp(
          `/s0".*no effect.*build that began the run, ".*drover cancel ${failing.metadata.name} .*--terminate`,
        ),
      );
      const { code, out, err } = await drover(
        'cancel',
        failing.metadata.name,
        '--terminate',
        '--yes',
        '-n',
        stack.namespace,
        '-o',
        'json',
      );
      expect(code, err).toBe(0);
      expect(err).toMatch(/settles .*Interrupted/);

      const ended = JSON.parse(out) as DRPlanExecution;
      expect(ended.status).toMatchObject({
        phase: 'Failed',
        reason: 'RunTerminated',
        message: expect.stringMatching(/was terminated as .* asked/) as string,
        cancelRequest: { via: 'Annotation' },
        summary: { failedStages: 1, runningStages: 0 },
      });
      expect(actionAt(ended, 0, 0, 0)).toMatchObject({ phase: 'Succeeded' });
      expect(actionAt(ended, 0, 0, 1)).toMatchObject({
        phase: 'Failed',
        reason: 'Interrupted',
        effect: 'Unknown',
      });
      expect(recorder.of(`/${torn}/hang`).every(({ aborted }) => aborted)).toBe(true);
      expect(recorder.of(`/${torn}/late`)).toEqual([]);
      const runId = workflowIdOf(ended);
      expect(await Promise.all([runId, `${runId}/s0`, `${runId}/s0/settle`].map(stateOf))).toEqual([
        'TERMINATED',
        'TERMINATED',
        'COMPLETED',
      ]);
      expect((await stack.getPlan(torn)).status?.currentExecution).toBeUndefined();
      // The plan runs again, on the new code.
      expect((await stack.ended(await stack.execute(whole, { rerun: 'Allowed' }))).status?.phase).toBe(
        'Succeeded',
      );
    },
  );
});
