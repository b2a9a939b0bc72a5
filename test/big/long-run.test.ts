/** The longest run that the contract admits. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isTerminalItem } from '../../api/core/phase.js';
import { stageWorkflowId } from '../../workflows/plan/contract.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { SIZES, tell } from './sizes.js';

const MIB = 1024 * 1024;
/** What is kept of an answer. */
const BODY = 'z'.repeat(1000);
/** Temporal warns at 10,240 events and ends a workflow at 51,200; and at 50 MiB. */
const EVENTS = 20_000;
const BYTES = 20 * MIB;

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  stack = await openStack('long');
  recorder = await startRecorder();
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

it('succeeds with each effect once and in order, its status below 1 MiB, what is left out in Temporal, and no history near a limit [S6.9]', async () => {
  const { stages, actions } = SIZES;
  await stack.workflow('calls', {
    parameters: [{ name: 'stage', type: 'string', required: true }],
    actions: Array.from({ length: actions }, (_, action) =>
      http(`call-${action}`, `${recorder.url}/{{ .params.stage }}/${action}?length=1000&of=z`),
    ),
  });
  await stack.plan('long', {
    stages: Array.from({ length: stages }, (_, stage) => ({
      name: `stage-${stage}`,
      workflows: [{ workflowRef: { name: 'calls' }, params: [{ name: 'stage', value: String(stage) }] }],
    })),
  });
  const begun = performance.now();
  const execution = await stack.execute('long');
  const { status } = await stack.ended(execution, 300_000 + stages * actions * 2000);
  tell(
    `${stages * actions} actions in ${stages} stages after ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );

  expect(status?.phase, status?.message).toBe('Succeeded');
  expect(recorder.requests.map(({ path }) => path)).toEqual(
    Array.from(
      { length: stages * actions },
      (_, index) => `/${Math.floor(index / actions)}/${index % actions}`,
    ),
  );
  const open = (status?.stageStatuses ?? [])
    .flatMap((stage) => [stage, ...(stage.workflowExecutions ?? [])])
    .filter(({ phase }) => !isTerminalItem(phase));
  expect(open).toEqual([]);
  expect(status?.stageStatuses).toHaveLength(stages);

  const bytes = Buffer.byteLength(JSON.stringify(status));
  tell(`status ${Math.round(bytes / 1024)} KiB; ${status?.omitted ?? 'nothing left out'}`);
  expect(bytes).toBeLessThan(MIB);
  const workflowId = status?.temporal?.workflowId ?? '';
  if (stages * actions * BODY.length > MIB) expect(status?.omitted).toContain(`in the run "${workflowId}"`);

  const ids = [
    workflowId,
    ...Array.from({ length: stages }, (_, stage) => stageWorkflowId(workflowId, stage)),
  ];
  let [events, largest] = [0, 0];
  for (const id of ids) {
    const { historyLength, historySize = 0 } = await stack.temporal.workflow.getHandle(id).describe();
    events += historyLength;
    largest = Math.max(largest, historySize);
    expect(historyLength, id).toBeLessThan(EVENTS);
    expect(historySize, id).toBeLessThan(BYTES);
  }
  tell(`${events} events in ${ids.length} histories, the largest of ${Math.round(largest / 1024)} KiB`);

  const last = stageWorkflowId(workflowId, stages - 1);
  const { events: told } = await stack.temporal.workflow.getHandle(last).fetchHistory();
  const bodies = (told ?? []).filter((event) =>
    (event.activityTaskCompletedEventAttributes?.result?.payloads ?? []).some(({ data }) =>
      Buffer.from(data ?? []).includes(BODY),
    ),
  );
  expect(bodies).toHaveLength(actions);
});
