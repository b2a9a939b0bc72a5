/**
 * Workflow code must replay the histories of runs that are under way when it is deployed. With DROVER_RECORD=1 the
 * histories are recorded instead.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Worker } from '@temporalio/worker';
import { expect, inject, it } from 'vitest';
import { startScriptedWorker } from '../support/scripted.js';
import { recordHistories } from './scenarios.js';

const folder = fileURLToPath(new URL('histories', import.meta.url));
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

interface RecordedHistory {
  events: [{ workflowExecutionStartedEventAttributes: { workflowId: string } }];
}

it('replays every recorded history', async () => {
  if (process.env.DROVER_RECORD === '1') {
    const scripted = await startScriptedWorker(inject('temporal'), inject('temporalNamespace'));
    const cli = inject('endpoints').temporalCli ?? 'temporal';
    const files = await recordHistories(scripted, async (workflowId) => {
      const show = [
        'workflow',
        'show',
        '--output',
        'json',
        '--workflow-id',
        workflowId,
        '--address',
        inject('temporal'),
      ];
      const { stdout } = await promisify(execFile)(cli, show, { maxBuffer: 64 << 20 }).catch(() => ({
        stdout: '',
      }));
      return stdout === '' ? undefined : stdout;
    });
    await scripted.close();
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
    await Promise.all([...files].map(([name, json]) => writeFile(`${folder}/${name}`, json)));
  }
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  expect(names.length).toBeGreaterThan(10);
  // Children's ids are made from the run's own, so a history replays only under the id it was recorded with.
  const histories = await Promise.all(
    names.map(async (name) => {
      const history = JSON.parse(await readFile(`${folder}/${name}`, 'utf8')) as RecordedHistory;
      return { workflowId: history.events[0].workflowExecutionStartedEventAttributes.workflowId, history };
    }),
  );
  const failures: string[] = [];
  for await (const result of Worker.runReplayHistories({ workflowBundle: { codePath } }, histories)) {
    if (result.error !== undefined) failures.push(`${result.workflowId}: ${result.error.message}`);
  }
  expect(failures).toEqual([]);
});
