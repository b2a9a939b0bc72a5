import type { DRPlanExecutionStatus } from '../../api/plan/types.js';
import { diffFields } from '../../crd-bridge/core/json-diff.js';
import { keyOf } from '../../kube/client.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import type { Scenario } from '../lib/bench.js';
import type { Figure } from '../lib/figures.js';
import { execute, expectSuccess, prepareRuns } from '../lib/load.js';
import { measured } from '../lib/measure.js';
import { during } from '../lib/progress.js';

type Written = KubeObject & { status?: DRPlanExecutionStatus };
type Write = (kube: KubeClient, object: Written, mark: string) => Promise<Written>;

/** The same change, an action and the message of the run, told in two ways. */
const WAYS: Record<string, Write> = {
  'changed fields': (kube, object, mark) => {
    const status = object.status ?? {};
    return kube.patch<Written>(
      keyOf(object),
      [
        { op: 'replace', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion },
        ...diffFields('/status', status, marked(status, mark)),
      ],
      { kind: 'json', subresource: 'status' },
    );
  },
  'whole status': (kube, object, mark) =>
    kube.replace({ ...object, status: marked(object.status ?? {}, mark) }, { subresource: 'status' }),
};

export const writes: Scenario = {
  name: 'writes',
  summary: 'a status written field by field or whole, and what that costs the API server',
  sizes: {
    writes: { value: 1000, meaning: 'writes of each way, one after another' },
    stages: { value: 3, meaning: 'stages of the execution that is written' },
    actions: { value: 3, meaning: 'actions of each stage' },
  },
  async run(bench) {
    const count = bench.size('writes');
    const shape = { stages: bench.size('stages'), actions: bench.size('actions') };
    const planned = await prepareRuns(bench, { shape, count: 1 });
    const ended = await execute(bench, planned, { parallel: 1, limitMs: 300_000, text: 'one run first' });
    expectSuccess(bench, ended);
    const [last] = ended;
    if (last === undefined) throw new Error('the run did not end');
    // An execution that has ended is nobody's business any more: only these writes touch it.
    let object: Written = last.object;
    const figures: Figure[] = [
      {
        name: 'status',
        value: Buffer.byteLength(JSON.stringify(object.status)) / 1024,
        unit: 'KiB',
      },
    ];
    for (const [way, write] of Object.entries(WAYS)) {
      const { figures: found } = await during(bench.progress, `${count} writes, ${way}`, () =>
        measured(bench, { prefix: `${way},`, runs: count, per: 'a write', ownWrites: count }, async () => {
          for (let each = 0; each < count; each += 1) {
            object = await write(bench.system.kube, object, `${way} ${each}`);
          }
        }),
      );
      figures.push(...found);
    }
    return figures;
  },
};

function marked(status: DRPlanExecutionStatus, mark: string): DRPlanExecutionStatus {
  const copy = structuredClone(status);
  copy.message = mark;
  const action = copy.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses?.[0];
  if (action !== undefined) action.message = mark;
  return copy;
}
