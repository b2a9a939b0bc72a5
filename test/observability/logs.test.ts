/** What bridge and worker say of a run: one search finds all lines of it. The worker says how actions go to whoever looks closer. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { dataPaths } from '../../local/paths.js';
import { heal, kill } from '../support/parts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

type Line = Record<string, unknown> & { component: string; msg: string };

let stack: Stack;
let recorder: Recorder;
const ran: Record<'good' | 'cancelled' | 'deleted', DRPlanExecution> = {} as never;

beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('logs'), startRecorder()]);
  await kill('worker');
  await heal({}, { DROVER_LOG_LEVEL: 'debug' });
  await Promise.all([
    stack.simplePlan('good', [
      http('again', `${recorder.url}/again?fail=1`, { retryPolicy: { limit: 1, interval: '10ms' } }),
    ]),
    stack.simplePlan('slow', [http('waits', `${recorder.url}/slow?delay=60000`)]),
    stack.simplePlan('slow-too', [http('waits', `${recorder.url}/slow-too?delay=60000`)]),
  ]);
  [ran.good, ran.cancelled, ran.deleted] = await Promise.all([
    stack.execute('good'),
    stack.execute('slow'),
    stack.execute('slow-too'),
  ]);
  await poll(
    () => Promise.resolve(recorder.requests.map(({ path }) => path)),
    (paths) => paths.includes('/slow') && paths.includes('/slow-too'),
  );
  const keyOf = ({ metadata }: DRPlanExecution) => ({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    namespace: stack.namespace,
    name: metadata.name,
  });
  await stack.kube.patch(
    keyOf(ran.cancelled),
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );
  await stack.kube.delete(keyOf(ran.deleted));
  ran.good = await stack.ended(ran.good);
  await stack.ended(ran.cancelled);
  await poll(
    () => stack.kube.get(keyOf(ran.deleted)),
    (found) => found === undefined,
  );
});
afterAll(async () => {
  await Promise.all([stack.close(), recorder.close()]);
});

/** Lines of both programs that say anything of an execution. */
async function linesOf({ metadata: { name } }: DRPlanExecution): Promise<Line[]> {
  const { logs } = dataPaths(servers.dataDir);
  const texts = await Promise.all(
    ['bridge', 'worker'].map((program) => readFile(join(logs, `${program}.log`), 'utf8')),
  );
  return texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line.includes(name))
    .map((line) => JSON.parse(line) as Line);
}

describe('the log', () => {
  it.each(['good', 'cancelled', 'deleted'] as const)(
    'names execution and plan in every line about a run that was %s',
    async (which) => {
      const execution = ran[which];
      const lines = await linesOf(execution);
      expect(lines.length).toBeGreaterThan(1);
      const fields = {
        execution: `${stack.namespace}/${execution.metadata.name}`,
        plan: execution.spec.planRef,
      };
      for (const line of lines) expect(line, JSON.stringify(line)).toMatchObject(fields);
    },
  );

  it('says of a run when it was started, cancelled and ended, and of each attempt how it ended', async () => {
    const said = async (execution: DRPlanExecution): Promise<string[]> =>
      (await linesOf(execution)).map(({ component, msg }) => `${component}: ${msg}`);
    expect(await said(ran.good)).toEqual(
      expect.arrayContaining(['bridge: run started', 'bridge: run ended', 'worker: attempt ended']),
    );
    expect(await said(ran.cancelled)).toContain('bridge: cancel sent');
    expect(await said(ran.deleted)).toEqual(
      expect.arrayContaining(['bridge: cancel sent for a deletion', 'bridge: run ended']),
    );
  });

  it('names the action in every line of a worker about one', async () => {
    const lines = (await linesOf(ran.good)).filter(({ component }) => component === 'worker');
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line, JSON.stringify(line)).toMatchObject({ action: 'again' });
    const ends = lines.filter(({ msg }) => msg === 'attempt ended');
    expect(ends.map(({ attempt, kind, reason }) => [attempt, kind, reason])).toEqual([
      [1, 'retry', 'HTTPStatus'],
      [2, 'succeeded', undefined],
    ]);
  });
});

describe('traces', () => {
  it('leave nothing where nobody has asked for them: no annotation, no header in a history', async () => {
    expect(Object.keys(ran.good.metadata.annotations ?? {})).not.toContain(ANNOTATIONS.traceparent);
    const { events } = await stack.temporal.workflow
      .getHandle(ran.good.status?.temporal?.workflowId ?? '')
      .fetchHistory();
    const headers = (events ?? []).flatMap((event) => [
      ...Object.keys(event.workflowExecutionStartedEventAttributes?.header?.fields ?? {}),
      ...Object.keys(event.activityTaskScheduledEventAttributes?.header?.fields ?? {}),
      ...Object.keys(event.startChildWorkflowExecutionInitiatedEventAttributes?.header?.fields ?? {}),
    ]);
    expect(events?.length).toBeGreaterThan(5);
    expect(headers).toEqual([]);
    expect(recorder.requests.map(({ headers: sent }) => sent.traceparent)).toEqual(
      recorder.requests.map(() => undefined),
    );
  });
});
