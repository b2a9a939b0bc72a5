import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const {
  ACTS,
  BAD,
  BRIDGE,
  CANCEL,
  CRASH,
  E2E,
  HTTP,
  JOB,
  NET,
  OBJECT,
  ORDER,
  PARTS,
  PROJECTION,
  RENDER,
  REVERT,
  RULES,
  RUNS,
  SEQUENCE,
  STATE,
  STOP,
  TRIES,
  UNDO,
  VALUES,
} = FILES;

/** Promises that the original controller made and did not keep, the edges it left open, and its defects. */
export const ORIGINAL: readonly Chapter[] = [
  chapter('P', 'Promises that the original does not keep', [
    [
      'a run goes on after a restart and repeats nothing that was done',
      [
        `${CRASH} > a run > goes on where it was when the worker is killed, and repeats nothing that was done`,
        `${CRASH} > a run > survives kills of bridge and worker at ten random moments`,
      ],
    ],
    [
      'workflow and parameters are those of the start',
      [
        `${E2E} > an execution > runs from its snapshot when plan and workflow are changed or deleted meanwhile`,
      ],
    ],
    [
      'undefined placeholders are rejected at admission',
      [
        `${VALUES} > placeholders > that cannot work are refused at admission: %s`,
        `${BAD} > a plan > %s is Invalid and says where`,
      ],
    ],
    [
      'required and type are checked',
      [
        `${VALUES} > parameters > declared as %s have that type at every level`,
        `${RULES} > an execution > brings the parameters that are missing`,
        `${BAD} > an execution > without a required parameter fails before any action, and runs with it`,
      ],
    ],
    [
      'a Job is waited for, times out, and is cleaned up',
      [`${JOB} > a Job that does not end > is deleted on timeout, for good, once its pods are gone`],
    ],
    [
      'timeout and retryPolicy count for every action',
      [
        `${ACTS} > timeouts > bound one attempt of every type, and the outputs so far survive`,
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${TRIES} > attempts on a real server > end in time, keep the key of what may have had its effect, and say so`,
        `${TRIES} > attempts on a real server > count failures exactly, each definite one in a round of its own`,
      ],
    ],
    [
      'the failure policy of a stage counts',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${ORDER} > failure policies > %s`,
      ],
    ],
    [
      'stages behind a failed one are Skipped',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${ORDER} > failure policies > %s`,
      ],
    ],
    [
      'a cancel works in the middle of a run and leaves a true status',
      [`${CANCEL} > cancel > by %s stops the running call and says so in status`],
    ],
    [
      'deleted while running: Cancelled in history, plan free',
      [`${CANCEL} > delete > of a running execution cancels it, frees the plan and keeps the history row`],
    ],
    [
      'Events tell starts, ends and failures',
      [
        `${RUNS} > an execution > is told in Events, whatever becomes of it`,
        `${PROJECTION} > failed actions > are told once per round`,
        `${E2E} > an execution > runs, reports everything in status, and leaves the plan Executed`,
      ],
    ],
    [
      'Patch works for Localization, Subscription and KubernetesResource',
      [
        `${NET} > Localization > patches only what is written, keeps labels and finalizers, and restores`,
        `${NET} > Subscription > moves an application by a patch, waits for the new place only, and moves it back`,
        `${OBJECT} > Patch > sends only what is written, and puts it back`,
      ],
    ],
    [
      'a plan becomes Invalid when a workflow disappears',
      [`${BAD} > a plan > becomes Ready when its workflow appears, and Invalid when it goes`],
    ],
    [
      'labels are set',
      [
        `${RUNS} > an execution > is marked, then takes its plan, then starts; and the plan is free before it has ended`,
        `${RUNS} > a plan > uses workflows of its own namespace unless another is named, and is labelled with a single one`,
        `${E2E} > an execution > runs, reports everything in status, and leaves the plan Executed`,
      ],
    ],
    [
      'completionTime is always there',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${RUNS} > an execution > is told in Events, whatever becomes of it`,
        `${PROJECTION} > the end > of an execution that never ran has all that a terminal status has`,
        `${E2E} > an execution > runs, reports everything in status, and leaves the plan Executed`,
      ],
    ],
    [
      'every action is safe to try again',
      [
        `${OBJECT} > Create > adopts what a lost attempt made, also in a later round`,
        `${JOB} > a Job > is adopted by the next attempt after a lost one, not run twice`,
        `${TRIES} > attempts on a real server > are taken over from a worker that shuts down, with the same key and without being counted`,
      ],
    ],
  ]),
  chapter('E', 'Edges that the original leaves open', [
    [
      'Create and retry: only our own object is adopted',
      [`${OBJECT} > Create > fails on what is not ours, and touches nothing`],
    ],
    [
      'outputs of failed and timed out actions survive',
      [
        `${OBJECT} > interruption > keeps the outputs of what is done`,
        `${OBJECT} > Apply > restores after an attempt that ended without a word`,
      ],
    ],
    [
      'Apply and Patch: prior state captured, lists replaced as a whole',
      [
        `${OBJECT} > Apply > takes over fields, names whose they were, and restores them`,
        'activities/actions/objects/restore.test.ts > planRestore > treats a list as one value',
      ],
    ],
    [
      'Patch without rollback is refused, templated operations included',
      [
        `${RULES} > a workflow > with %s is refused`,
        'api/plan/snapshot/compile.test.ts > capture > refuses an operation that parameters make wrong',
      ],
    ],
    [
      'Delete: NotFound is success, finalizers are awaited within bounds',
      [
        `${OBJECT} > Delete > succeeds when there is nothing, and has nothing to undo`,
        `${OBJECT} > Delete > waits for finalizers within bounds and names them`,
      ],
    ],
    [
      'deletes have a uid as precondition',
      [
        `${OBJECT} > Create > leaves an object alone that took the name of the created one`,
        `${OBJECT} > Delete > leaves alone what was created after it, forward and back`,
      ],
    ],
    [
      'Jobs: names, propagation, TTL, backoff, suspend, templates',
      [
        `${JOB} > a Job > runs to Complete, rendered and marked, and is deleted by undo with its pods`,
        `${JOB} > a Job > gets its TTL only once its result is known`,
        `${JOB} > a template > %j is refused`,
      ],
    ],
    [
      'HTTP: times, classes, key, bounds, redaction, redirects, empty bodies',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${ACTS} > a secret in a header > is in no status, event, history, log or object that is kept`,
        `${HTTP} > answers > %i with successCodes %j is %s`,
        `${HTTP} > secrets > appear in nothing that is reported [SEC9]`,
        `${HTTP} > redirects > takes no body, header or secret to another origin [F15] [SEC6]`,
      ],
    ],
    [
      'timeout is one attempt, totalTimeout all of them',
      [
        `${ACTS} > timeouts > bound one attempt of every type, and the outputs so far survive`,
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        'activities/core/attempt.test.ts > totalTimeout > ends a series when the next attempt could not begin in time',
      ],
    ],
    [
      'limit 0, bad intervals and multipliers',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        'activities/core/attempt.test.ts > counting > makes one attempt for limit 0',
        'api/plan/validate/workflow.test.ts > rules > %s',
      ],
    ],
    [
      'placeholders: undefined, empty, foreign, dashed, single pass, typed',
      [
        `${VALUES} > placeholders > that cannot work are refused at admission: %s`,
        `${VALUES} > a value > takes its type where it is a whole unquoted scalar, and is text where it is quoted`,
        `${VALUES} > placeholders > leave all other braces and parentheses as they are`,
        'api/plan/template/render.test.ts > renderString > %s is refused',
        `${RENDER} > renderString > a value that looks like a placeholder is not filled in again`,
        `${RENDER} > renderDocuments > an unquoted placeholder takes the type of the value, all others are text`,
      ],
    ],
    [
      'the same workflow twice in a stage',
      [
        `${VALUES} > a value > of any content lands as one value: in a URL, a header, a JSON body and a manifest`,
        `${UNDO} > a revert > does not undo over what another plan has written since`,
        `${E2E} > an execution > runs workflows of a parallel stage at once, and the same workflow twice in a stage`,
      ],
    ],
    [
      'the matrix of failure policies',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${ORDER} > failure policies > %s`,
      ],
    ],
    [
      'forward references and independent stages',
      [
        `${SEQUENCE} > order > of stages is a graph with dependsOn, forward too, up to maxConcurrentStages %s at once`,
        `${ORDER} > order of stages > with dependsOn is a graph, forward references allowed, one at a time unless maxConcurrentStages says more`,
      ],
    ],
    [
      'one execution per plan, also in a race; the lock is freed once',
      [
        `${RUNS} > an execution > is marked, then takes its plan, then starts; and the plan is free before it has ended`,
        `${BRIDGE} > the plan of an execution > goes to one of several executions created at once; the others name the holder [SEC12]`,
        `${STATE} > the lock > is freed by its holder only`,
      ],
    ],
    [
      'edits while running',
      [
        `${E2E} > an execution > runs from its snapshot when plan and workflow are changed or deleted meanwhile`,
        `${RULES} > a plan > that runs may be changed, and says from when on the change counts`,
      ],
    ],
    [
      'plan, workflow or namespace deleted while running',
      [
        `${E2E} > an execution > runs from its snapshot when plan and workflow are changed or deleted meanwhile`,
        'test/admission/deletion.test.ts > a namespace goes with everything that is in use in it, and with its running executions',
      ],
    ],
    [
      'execution deleted while running',
      [
        `${BRIDGE} > a running execution > is cancelled by its deletion, and leaves a history row and a free plan`,
      ],
    ],
    [
      'cancel: pending, running, in a rollback, racing the end, of an ended one, reverted',
      [
        `${UNDO} > a rollback inside a failed run > goes on when a cancel comes, and stops when it is forced`,
        `${CANCEL} > cancel > written before the run began cancels it at once`,
        `${CANCEL} > cancel > of an ended run is ignored`,
        `${STOP} > cancel > that comes after the last action changes nothing`,
        `${CANCEL} > cancel > leaves a run that can be reverted`,
        `${STOP} > rollback > goes on when a cancel comes, and stops when it is forced`,
      ],
    ],
    [
      'revert: twice, of an older run, after a failed revert, across types, in reverse',
      [
        `${UNDO} > a revert > of an older run waits for the newer one, and needs force`,
        `${UNDO} > a revert > stops at the first undo that fails, and the next one goes on there`,
        `${UNDO} > a revert > undoes by rollbacks of any type and by inverses, the last first, and lists what it cannot undo`,
        `${E2E} > revert > runs custom rollbacks in reverse, frees the plan for another run, and cannot be done twice`,
        `${REVERT} > revert > stops at the first failure, lists what is left, and goes on there the next time`,
        'crd-bridge/plan/start/revert-target.test.ts > the target of a revert > is the newest run that still has effects, unless forced',
      ],
    ],
    [
      'crash at every point between effect and status',
      [
        `${PARTS} > a worker > that stands still is taken for lost, and nothing has its effect twice`,
        `${CRASH} > a run > survives kills of bridge and worker at ten random moments`,
      ],
    ],
    [
      'size of status and of payloads',
      [
        `${RUNS} > an execution > carries a parameter of a megabyte to its action, and its history does not carry it`,
        'crd-bridge/plan/status/size-guard.test.ts > at its smallest tells every phase of the largest run admitted',
        `${E2E} > a large stage > shows every action in status, although no step and no result carries them all`,
      ],
    ],
    [
      'status writes: conflicts retried, throttled, never a reason to run again',
      [
        'test/bridge/status-writer.test.ts > loses no write however late the cache is and whoever else writes',
        'test/bridge/status-writer.test.ts > writes nothing when nothing differs, and nothing to another object of the name',
      ],
    ],
    [
      'history: exactly ten, by uid, from the start, after deletion',
      [
        `${RUNS} > a plan > keeps its last ten executions, newest first, and the last success, through deletions and edits`,
        `${STATE} > history > keeps ten rows, newest first, one per uid, and never opens one again`,
        `${STATE} > history > tells two executions of one name apart, and keeps a row that the original wrote without uid`,
      ],
    ],
    [
      'times of every terminal state; transitions keep their time',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${RUNS} > an execution > is told in Events, whatever becomes of it`,
        `${RUNS} > a plan > and workflow say in Ready what was looked at, and change its time with its status only`,
        'crd-bridge/core/conditions.test.ts > moves the time with the status only',
        `${PROJECTION} > the end > brings everything into a terminal phase, however little was told`,
      ],
    ],
    [
      'names: shortened with a hash, never cut',
      [
        'api/plan/naming.test.ts > shorten > gives two long names with the same beginning different results',
        `${E2E} > names > may be as long as Kubernetes allows`,
        'api/plan/validate/static.test.ts > names that parameters make > are too long',
      ],
    ],
    [
      'missing kinds, 403, webhook denials, 429 and 503: final or not',
      [
        `${UNDO} > an action whose object is refused > by a policy fails at once and says what the policy said; by a webhook that is away it is tried again`,
        `${OBJECT} > bad input > names the missing right on 403`,
        'activities/core/attempt.test.ts > what ends an action without its effect > tries again when the API is away, keeping the round',
      ],
    ],
    [
      'hub down: bridge and Temporal agree again afterwards',
      [
        `${CRASH} > a run > goes on while the bridge is away, and status catches up`,
        `${CRASH} > a run > goes on while the API server is away, and status catches up`,
        `${BRIDGE} > an execution whose run is in another Temporal > says so, changes nothing, and is deleted only when a person insists; its plan is freed with the run`,
      ],
    ],
    [
      'without Clusternet, plans of HTTP and Jobs work',
      [`${E2E} > an execution > runs, reports everything in status, and leaves the plan Executed`],
    ],
    [
      'one spelling is written, both are read',
      [
        `${UNDO} > a revert > undoes what may have happened, leaves out what did not, and takes a Canceled run for a Cancelled one`,
        `${RUNS} > an execution > is marked, then takes its plan, then starts; and the plan is free before it has ended`,
        'crd-bridge/plan/start/revert-target.test.ts > the target of a revert > that is %s',
        'client/cli/plan/import/import.test.ts > executions > that are %s are never written again: creating one would start the plan',
      ],
    ],
  ]),
  chapter('D', 'Defects of the original', [
    [
      'one running execution blocks no other',
      [
        `${SEQUENCE} > many plans at once > do not wait for each other`,
        'crd-bridge/core/queue.test.ts > queue > handles no more keys at once than allowed, and the others in order',
      ],
    ],
    [
      'a restart does not begin again',
      [
        `${CRASH} > a run > goes on where it was when the worker is killed, and repeats nothing that was done`,
      ],
    ],
    [
      'a cancel reaches the running action within seconds',
      [
        `${BRIDGE} > a running execution > is cancelled by the annotation, long before its call would end`,
        `${TRIES} > attempts on a real server > stop at once with a cancel, and have an outcome`,
      ],
    ],
    [
      'a Job action ends as the Job ends',
      [
        `${ACTS} > Jobs > end as the Job ends, and say what its pod said`,
        `${JOB} > a Job > that fails is final and says why`,
      ],
    ],
    [
      'timeout is enforced for every type',
      [
        `${ACTS} > timeouts > bound one attempt of every type, and the outputs so far survive`,
        `${TRIES} > attempts on a real server > end in time, keep the key of what may have had its effect, and say so`,
      ],
    ],
    [
      'ready stages can run at once',
      [
        `${SEQUENCE} > order > of stages is a graph with dependsOn, forward too, up to maxConcurrentStages %s at once`,
        `${ORDER} > order of stages > with dependsOn is a graph, forward references allowed, one at a time unless maxConcurrentStages says more`,
      ],
    ],
    [
      'no value becomes code, none is expanded twice',
      [
        `${VALUES} > a value > of any content lands as one value: in a URL, a header, a JSON body and a manifest`,
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a structured template [SEC8]',
        `${RENDER} > renderString > a value that looks like a placeholder is not filled in again`,
      ],
    ],
    [
      'HTTP goes only where it may, reads within bounds',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        'activities/core/egress.test.ts > connections > goes to the address that was checked',
        'activities/core/egress.test.ts > connections > resolves once, so that a second answer has no say [SEC5]',
        `${HTTP} > answers > reads no more than it keeps use for [SEC7]`,
      ],
    ],
    [
      'actions act as an account of the namespace, ownership can be respected',
      [
        'activities/core/attempt.test.ts > what ends an action without its effect > acts as the service account in the namespace of the plan',
        `${OBJECT} > Apply > respects ownership with force: false`,
      ],
    ],
    [
      'columns, short names, metrics',
      [
        `${PARTS} > kubectl > installs the definitions with a plain apply, and shows and explains the kinds`,
        `${PARTS} > metrics > of bridge and worker can be read`,
        'scripts/generate.test.ts > generated files > are CRDs that kubectl apply can store, and the reference',
      ],
    ],
    [
      'pause, retry, skip, and a revert from where it stopped',
      [
        `${UNDO} > a revert > stops at the first undo that fails, and the next one goes on there`,
        `${STOP} > pause > retries the failed action in a new round and goes on`,
        `${REVERT} > revert > stops at the first failure, lists what is left, and goes on there the next time`,
        'test/authority/preflight.test.ts > says of every action how it would go, and leaves everything as it was',
      ],
    ],
    [
      'secrets are in no status, event, log or history',
      [
        `${ACTS} > a secret in a header > is in no status, event, history, log or object that is kept`,
        `${HTTP} > secrets > appear in nothing that is reported [SEC9]`,
        'api/plan/snapshot/compile.test.ts > bodies > stay out when they carry a secret',
      ],
    ],
  ]),
];
