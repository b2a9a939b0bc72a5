/**
 * Workflow code must replay the histories of runs that are under way when it is deployed: those of every release, which
 * are kept for ever in a folder of its version. With DROVER_RECORD=1 those of the version in package.json are recorded
 * anew first; with DROVER_RECORD=SCENARIO only those of one scenario, which the version gained
 * later.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { startScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';
import { recordHistories } from './scenarios.js';

const folder = fileURLToPath(new URL('histories', import.meta.url));
const manifest = fileURLToPath(new URL('../../package.json', import.meta.url));
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

interface RecordedHistory {
  events: [{ workflowExecutionStartedEventAttributes: { workflowId: string } }];
}

it('replays every recorded history [S6.1] [S6.21]', async () => {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const recorded = process.env.DROVER_RECORD;
  if (recorded !== undefined) {
    const scripted = await startScriptedWorker(servers.temporal, servers.temporalNamespace);
    const cli = servers.endpoints.temporalCli ?? 'temporal';
    const all = recorded === '1';
    const show = async (workflowId: string) => {
      const asked = [
        'workflow',
        'show',
        '--output',
        'json',
        '--workflow-id',
        workflowId,
        '--address',
        servers.temporal,
      ];
      const { stdout } = await promisify(execFile)(cli, asked, { maxBuffer: 64 << 20 }).catch(() => ({
        stdout: '',
      }));
      return stdout === '' ? undefined : stdout;
    };
    const files = await recordHistories(scripted, { show, ...(!all && { only: recorded }) });
    await scripted.close();
    const own = `${folder}/${version}`;
    if (all) await rm(own, { recursive: true, force: true });
    await mkdir(own, { recursive: true });
    await Promise.all([...files].map(([name, json]) => writeFile(`${own}/${name}`, json)));
  }
  const releases = await readdir(folder);
  expect(releases, 'this version has no histories yet; record them with DROVER_RECORD=1').toContain(version);
  const found = await Promise.all(
    releases.map(async (release) =>
      (await readdir(`${folder}/${release}`)).map((name) => `${release}/${name}`),
    ),
  );
  const names = found.flat().filter((name) => name.endsWith('.json'));
  expect(names.length).toBeGreaterThan(10 * releases.length);
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
