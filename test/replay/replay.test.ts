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
import type { Headers } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import type { InjectedSinks } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import { expect, it } from 'vitest';
import { traceHeaders } from '../../workflows/core/contract-trace.js';
import { startScriptedWorker } from '../support/scripted.js';
import { servers } from '../support/servers.js';
import { recordHistories } from './scenarios.js';

const folder = fileURLToPath(new URL('histories', import.meta.url));
const manifest = fileURLToPath(new URL('../../package.json', import.meta.url));
const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

interface RecordedHistory {
  events: [{ workflowExecutionStartedEventAttributes: { workflowId: string; header?: object } }];
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
  const histories = await readHistories(releases);
  expect(histories.length).toBeGreaterThan(10 * releases.length);
  expect(await failuresOf(histories)).toEqual([]);
});

it('replays every one of them as a part of a trace too: traces are switched on and off under live runs', async () => {
  const place = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const header = { fields: traceHeaders({ traceparent: place }) };
  const histories = await readHistories(await readdir(folder));
  let ended = 0;
  for (const { history } of histories) {
    const [{ workflowExecutionStartedEventAttributes: started }] = history.events;
    started.header = inJson(header);
  }
  const sinks = { trace: { ended: { fn: () => void (ended += 1), callDuringReplay: true } } };
  expect(await failuresOf(histories, sinks)).toEqual([]);
  // The header was read: each workflow that has ended has told so.
  expect(ended).toBeGreaterThan(histories.length / 2);
});

/** Payloads as they stand in the JSON of a history. */
const inJson = ({ fields }: { fields: Headers }): object => ({
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, { metadata = {}, data }]) => [
      name,
      {
        metadata: Object.fromEntries(
          Object.entries(metadata ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
        ),
        data: Buffer.from(data ?? []).toString('base64'),
      },
    ]),
  ),
});

async function readHistories(
  releases: readonly string[],
): Promise<{ workflowId: string; history: RecordedHistory }[]> {
  const found = await Promise.all(
    releases.map(async (release) =>
      (await readdir(`${folder}/${release}`)).map((name) => `${release}/${name}`),
    ),
  );
  const names = found.flat().filter((name) => name.endsWith('.json'));
  // Children's ids are made from the run's own, so a history replays only under the id it was recorded with.
  return Promise.all(
    names.map(async (name) => {
      const history = JSON.parse(await readFile(`${folder}/${name}`, 'utf8')) as RecordedHistory;
      return { workflowId: history.events[0].workflowExecutionStartedEventAttributes.workflowId, history };
    }),
  );
}

/** What does not replay, and why. */
async function failuresOf(
  histories: { workflowId: string; history: RecordedHistory }[],
  sinks?: InjectedSinks<Sinks>,
): Promise<string[]> {
  const failures: string[] = [];
  const options = { workflowBundle: { codePath }, ...(sinks !== undefined && { sinks }) };
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    if (error !== undefined) failures.push(`${workflowId}: ${error.message}`);
  }
  return failures;
}
