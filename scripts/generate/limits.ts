/** `docs/limits.md`: what fits, what is not promised, and what nobody has tried. Figures come from the code that keeps them. */
import { STOP_WAIT_MS } from '../../activities/actions/job/job-pods.js';
import { MAX_BODY_BYTES } from '../../activities/actions/http/http-body.js';
import { KEPT_CHARACTERS, MAX_REDIRECTS } from '../../activities/actions/http/http.js';
import { MAX_CLUSTERS } from '../../activities/actions/clusternet/subscription-clusters.js';
import { TEXT_CHARACTERS } from '../../activities/actions/notify/notify-message.js';
import { MAX_OBJECTS } from '../../activities/actions/objects/documents.js';
import { MAX_PRIOR_BYTES } from '../../activities/core/prior-secret.js';
import { MAX_CONDITION_LENGTH } from '../../api/core/cel.js';
import { DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS } from '../../api/plan/actions/action-defaults.js';
import { MAX_COMMENT } from '../../api/plan/actions/approval-answers.js';
import { MAX_NESTING } from '../../api/plan/order/nesting.js';
import { MAX_HISTORY } from '../../api/plan/schema/plan.js';
import { MAX_STAGES } from '../../api/plan/snapshot/compile.js';
import { MAX_ACTIONS } from '../../api/plan/snapshot/parts.js';
import { MAX_SNAPSHOT_BYTES } from '../../api/plan/snapshot/snapshot.js';
import { MAX_START_DEADLINE_SECONDS } from '../../api/plan/validate/execution.js';
import { MAX_VALUE_CHARACTERS } from '../../crd-bridge/plan/start/look-up-value.js';
import { START_DEADLINE_SECONDS } from '../../crd-bridge/plan/start/checks.js';
import { MAX_INPUT_BYTES } from '../../crd-bridge/plan/start/work.js';
import { MAX_STATUS_BYTES, MAX_STATUS_BYTES_WITH_OUTPUTS } from '../../crd-bridge/plan/status/size-guard.js';
import { ANSWER_MS, MAX_BODY_BYTES as MAX_REVIEW_BYTES } from '../../crd-bridge/webhook/review-handler.js';
import { MAX_CLUSTERS_AT_ONCE } from '../../workflows/plan/cluster-part.js';
import { HEARTBEAT_TIMEOUT_MS } from '../../workflows/plan/options.js';
import { WORKER } from '../../worker/config.js';

/** Where the page is kept. */
export const LIMITS_PAGE = 'docs/limits.md';

/** What, how much, and what happens beyond. */
type Row = readonly [what: string, bound: string, beyond: string];

/** The page as Markdown. */
export const limitsPage = (): string =>
  [
    HEAD,
    '## Sizes and counts\n',
    table(['A plan and its run', 'At most', 'Beyond that'], RUN),
    table(['An action', 'At most', 'Beyond that'], ACTION),
    table(['The programs', 'At most', 'Beyond that'], PROGRAMS),
    TEXT,
  ].join('\n');

const number = (value: number): string => value.toLocaleString('en');
const bytes = (value: number): string =>
  value >= 1024 ** 2 ? `${(value / 1024 ** 2).toFixed(2).replace(/\.?0+$/, '')} MiB` : `${value / 1024} KiB`;

/** In the longest unit that gives a whole number; else in seconds. */
function time(ms: number): string {
  const units = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['minutes', 60_000],
  ] as const;
  const [name, size] = units.find(([, each]) => ms % each === 0) ?? ['s', 1000];
  return `${ms / size} ${name}`;
}

const RUN: readonly Row[] = [
  ['stages', number(MAX_STAGES), 'the plan is refused'],
  [
    'actions, each cluster of a `PerCluster` action counted',
    number(MAX_ACTIONS),
    'the plan is refused, `PlanTooLarge`; clusters are counted in the run: `TooManyClusters`, before anything is touched',
  ],
  [
    'clusters of one `PerCluster` action; worked on at once',
    `${MAX_CLUSTERS}; ${MAX_CLUSTERS_AT_ONCE}`,
    'the action fails; the rest waits its turn',
  ],
  [
    'what Temporal gets to start a run',
    bytes(MAX_INPUT_BYTES),
    'refused at admission, `PlanTooLarge`, with the figure',
  ],
  [
    'snapshot: plan, workflows and parameters as they were',
    bytes(MAX_SNAPSHOT_BYTES),
    'refused at the start, `SnapshotTooLarge`',
  ],
  [
    'status of an execution',
    `${bytes(MAX_STATUS_BYTES)}; ${bytes(MAX_STATUS_BYTES_WITH_OUTPUTS)} with what a revert needs`,
    'answers are left out first, then the ends of messages, then messages; never phases and effects',
  ],
  ['plans nested below the executed one', number(MAX_NESTING), 'the plan is Invalid, `NestingTooDeep`'],
  ['rows of `executionHistory` in a plan', number(MAX_HISTORY), 'the oldest goes'],
  [
    'start deadline',
    `${time(MAX_START_DEADLINE_SECONDS * 1000)}; ${time(START_DEADLINE_SECONDS * 1000)} where none is written`,
    'refused',
  ],
  ['runs on one plan at a time', '1', 'Failed, `PlanBusy`: nothing queues'],
];

const ACTION: readonly Row[] = [
  [
    'timeout of an attempt, and a `Wait`',
    `${time(MAX_TIMEOUT_MS)}; ${time(DEFAULT_TIMEOUT_MS)} where none is written`,
    'refused',
  ],
  ['length of a condition', `${number(MAX_CONDITION_LENGTH)} characters`, 'refused'],
  ['objects in one manifest', number(MAX_OBJECTS), 'the action fails before the first write'],
  [
    'state kept before an action, for its revert',
    bytes(MAX_PRIOR_BYTES),
    'the action fails before it acts, `PriorStateTooLarge`',
  ],
  [
    'answer of an HTTP action that is read; that is kept',
    `${bytes(MAX_BODY_BYTES)}; ${number(KEPT_CHARACTERS)} characters`,
    'the rest is not read; not kept',
  ],
  ['redirects', number(MAX_REDIRECTS), 'the action fails, `TooManyRedirects`'],
  ['text of a message', `${number(TEXT_CHARACTERS)} characters`, 'it is cut'],
  ['value that `valueFrom` finds', `${number(MAX_VALUE_CHARACTERS)} characters`, 'the start is refused'],
  ['comment of an approval', `${number(MAX_COMMENT)} characters`, 'it is cut'],
  [
    'wait for pods of a stopped Job beyond their grace',
    `${time(STOP_WAIT_MS)}, \`--stop-wait\``,
    'the run goes on with `StopUnconfirmed`',
  ],
];

const PROGRAMS: readonly Row[] = [
  [
    'actions that one worker carries out at once',
    `${WORKER.options['max-activities'].absentText}, \`--max-activities\``,
    'the rest waits: `WorkersBusy`',
  ],
  [
    'waits for objects in one worker',
    `${number(Number(WORKER.options['max-waits'].absentText))}, \`--max-waits\``,
    'the rest waits: `WorkersBusy`',
  ],
  [
    'time until a worker that died is noticed',
    time(HEARTBEAT_TIMEOUT_MS),
    'another one makes the attempt again',
  ],
  [
    'request to the admission webhook',
    `${bytes(MAX_REVIEW_BYTES)}, ${time(ANSWER_MS)}`,
    'no answer: the API server refuses the object',
  ],
];

const table = (head: readonly string[], rows: readonly Row[]): string =>
  [`| ${head.join(' | ')} |`, '| --- | --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`), ''].join(
    '\n',
  );

const HEAD = `<!-- Generated by \`npm run generate\` from scripts/generate/limits.ts. Do not edit. -->

# Limits

For whoever decides whether Drover is enough: what fits into a plan, what is not promised, what nobody has tried, and what Drover does not
do. Figures of the first part are those of the code.
`;

const TEXT = `Input that is strange rather than large has [bounds of its own](admission.md#strange-input). How much a machine carries is measured:
[Performance](performance.md), [Sizing](sizing.md).

## What is not promised

- **An HTTP call happens at least once**, and exactly once only at an endpoint that honours \`Idempotency-Key\`. E-mail may arrive twice.
  [Guarantees](guarantees.md) has the whole list, [with what is not promised](guarantees.md#what-is-not-promised).
- **A revert is no restore.** It undoes what the run did, and only where nobody has changed it since. An HTTP action has no
  inverse but the \`rollback\` that you write, and deleting a Job does not undo what it did. Drover makes no backup of data and compares no
  replicas.
- **Nothing queues.** An execution of a plan that is in use, or one that comes too late, fails. Whoever asked has to ask again.
- **No clock starts a plan.** There are no schedules; the annotation \`trigger\` of the original starts nothing, and an Event says so.
- **Nobody watches sites.** Drover does not notice that a site is gone, and decides nothing: a person or a pipeline creates the execution.
- **Drover does not survive its own cluster.** Bridge and worker have to run where the failed site does not take them along, and Temporal and
  its database too. [What comes back after a restore](operating.md#after-a-restore) is described; a second region that takes over by
  itself is not there.
- **What Temporal is told can be read there**, unless you switch [encryption](encryption.md) on. [Security](security.md#what-is-not-defended)
  says what is not defended.
- **Speed.** One short run at a time takes longer than with a controller that keeps nothing: [measured](performance.md#in-one-run-with-other-controllers).

## What was not proved

| What | What was done instead |
| --- | --- |
| the container image, built and started | every step of its Dockerfile but the build: [Releases](releasing.md#what-is-not-proven) |
| \`docker-compose.yml\`, started | its syntax, and its scripts on a real PostgreSQL and Temporal |
| pods on real nodes | a real API server, scheduler and controllers; [kwok](https://kwok.sigs.k8s.io) moves the pods, so no container ran and no image was pulled |
| a managed Kubernetes (TKE, EKS, GKE, …) | etcd and kube-apiserver as released, 1.36.3, parts of the tests on 1.30.14 |
| Clusternet's own programs, on every commit | a simulator, [compared](clusternet.md#how-it-is-tested-here) once with v0.18.1; \`drover check clusternet\` looks at yours |
| Temporal Cloud, and a Temporal of several machines | one server, embedded, and one on PostgreSQL |
| more than one machine, a network between, real disks that fail | processes on one machine, killed and cut off at every boundary: [the fault harness](guarantees.md#the-fault-harness) |
| macOS, and any arm64 | Linux on amd64 |
| months of operation | sessions of hours |

## What Drover does not do

- **Argo Workflows.** \`executor.type: Argo\` is accepted with a warning and carried out by Drover itself.
- **JSON patches of objects.** \`Patch\` merges; lists of named items by \`patchType: strategic\`.
- **Secrets as parameters.** \`valueFrom\` refuses them: parameters are in snapshots and histories. Headers and addresses come from Secrets by
  reference.
- **A console of its own.** There are \`kubectl\`, \`drover\`, Temporal's Web UI and dashboards for Grafana.
- **Windows.** \`drover up\` needs Linux or macOS.
`;
