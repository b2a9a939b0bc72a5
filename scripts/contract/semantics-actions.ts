import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const {
  ACTS,
  ATTEMPT,
  CHART,
  CHECK,
  CLUSTERS,
  E2E,
  FAILOVER,
  GLOBAL,
  HTTP,
  JOB,
  LANES,
  NAMING,
  NEST,
  NET,
  OBJECT,
  ORDER,
  PARTS,
  STEPS,
  STOP,
  TARGET,
  TRAPS,
  TRIES,
} = FILES;

/** The plan semantics, rule by rule, in our own short words: what each action does. */
export const SEMANTICS_ACTIONS: readonly Chapter[] = [
  chapter('S3.', 'Actions (plan semantics, §3)', [
    [
      'timeout bounds one attempt and is enforced by the activity, outputs survive',
      [
        `${ACTS} > timeouts > bound one attempt of every type, and the outputs so far survive`,
        `${TRIES} > attempts on a real server > end in time, keep the key of what may have had its effect, and say so`,
        `${ATTEMPT} > interruptions > counts a timeout as a failure that may have had its effect`,
      ],
    ],
    [
      'totalTimeout bounds all attempts',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${ATTEMPT} > totalTimeout > ends a series when the next attempt could not begin in time`,
      ],
    ],
    [
      'attempts are limit + 1; limit 0 is one',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${TRIES} > attempts on a real server > count failures exactly, each definite one in a round of its own`,
        `${ATTEMPT} > counting > makes one attempt for limit 0`,
      ],
    ],
    [
      'a lost attempt does not use up the limit',
      [
        `${PARTS} > a worker > that stands still is taken for lost, and nothing has its effect twice`,
        `${TRIES} > attempts on a real server > are taken over from a worker that shuts down, with the same key and without being counted`,
        `${ATTEMPT} > counting > does not count lost attempts, but knows that they may have had their effect`,
      ],
    ],
    [
      'the stored default policy does not run a failed Job again, another one does',
      [
        `${JOB} > a Job > that fails is final and says why`,
        `${JOB} > a Job > that fails runs again in a new round where the policy asks for it`,
      ],
    ],
    [
      'only what may pass is retried: network, 408, 425, 429 with Retry-After, 5xx, API 409/429/5xx',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${E2E} > an execution > retries what may pass, counts the retries, and sends each definite attempt its own key`,
        `${ATTEMPT} > counting > asks for a longer wait only when Retry-After exceeds the policy, and never beyond its cap`,
        `${HTTP} > answers > %i with successCodes %j is %s`,
      ],
    ],
    [
      'the key names uid, position, direction and round; HTTP sends it, objects carry it',
      [
        `${NAMING} > ids > puts position, direction and round into the key`,
        `${HTTP} > requests > sends method, headers, body and the idempotency key, and keeps the answer`,
        `${OBJECT} > Create > makes an object in the execution's namespace, marked, and deletes it on undo`,
      ],
    ],
    [
      'AlreadyExists is success only for our key',
      [
        `${OBJECT} > Create > adopts what a lost attempt made, also in a later round`,
        `${OBJECT} > Create > fails on what is not ours, and touches nothing`,
        `${JOB} > a Job > is never taken over when it is somebody else's`,
      ],
    ],
    [
      'prior state is recorded before Apply, Patch, Replace and Delete',
      [
        `${ORDER} > order of workflows and actions > records prior state before an action that changes what is there`,
        `${OBJECT} > Apply > takes over fields, names whose they were, and restores them`,
      ],
    ],
    [
      'an undo restores only fields of this action that still hold its values, else Conflict',
      [
        `${OBJECT} > Apply > does not undo over a later change of the same field`,
        'activities/actions/objects/restore.test.ts > planRestore > names field, expected and found when somebody else changed a field since',
      ],
    ],
    [
      'heartbeats begin within a second; a paused attempt gives up before its effect',
      [
        `${PARTS} > a worker > that stands still is taken for lost, and nothing has its effect twice`,
        `${ATTEMPT} > interruptions > heartbeats within the first second, and at least once a second however many attempts run`,
        `${ATTEMPT} > interruptions > gives up before the effect when the process stood still for longer than the server waits [SEC12]`,
      ],
    ],
    [
      'an attempt that ends without an outcome is settled: found by its key, stopped, outputs kept',
      [
        `${STOP} > cancel > settles an attempt that ends without an outcome`,
        `${JOB} > a Job that does not end > is undone by its key when nothing was recorded`,
      ],
    ],
    [
      'interruptible: false lets an action finish',
      [`${STOP} > cancel > lets an action that is not interruptible finish`],
    ],
    [
      'HTTP: absent or empty successCodes mean 200-299; 1000 characters kept on a character boundary, on failure too',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${HTTP} > answers > keeps 1000 characters and never half of one`,
        `${HTTP} > answers > says what was answered and keeps it, on failure too`,
        `${HTTP} > answers > reads no more than it keeps use for [SEC7]`,
      ],
    ],
    [
      'HTTP: at most five redirects, to allowed hosts only; header values from Secrets',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,
        `${ACTS} > a secret in a header > is in no status, event, history, log or object that is kept`,
        `${HTTP} > redirects > follows at most five`,
        `${HTTP} > redirects > does not follow to an address that is not allowed [SEC5]`,
        `${HTTP} > secrets > appear in nothing that is reported [SEC9]`,
      ],
    ],
    [
      'Job: one name of at most 63 characters for one key, with the round in it',
      [
        `${NAMING} > object names > stays a DNS label of at most 63 characters for any names`,
        `${JOB} > a Job > is adopted by the next attempt after a lost one, not run twice`,
      ],
    ],
    [
      'Job: waits for its end; deleted on timeout and cancel, ended when its pods are gone',
      [
        `${ACTS} > timeouts > bound one attempt of every type, and the outputs so far survive`,
        `${JOB} > a Job > runs to Complete, rendered and marked, and is deleted by undo with its pods`,
        `${JOB} > a Job that does not end > is deleted on timeout, for good, once its pods are gone`,
        `${JOB} > a Job that does not end > is deleted on cancel`,
      ],
    ],
    [
      'Job: the result is kept before a TTL takes the Job away',
      [
        `${ACTS} > Jobs > end as the Job ends, and say what its pod said`,
        `${JOB} > a Job > gets its TTL only once its result is known`,
      ],
    ],
    ['Job: suspend is refused', [`${JOB} > a template > %j is refused`]],
    [
      'Localization: an absent overridePolicy means ApplyNow, ApplyLater warns',
      [
        `${NET} > Localization > takes effect at once by default, and is taken back`,
        `${TRAPS} > ApplyLater > changes nothing in the cluster, and the action says so`,
        `${CHECK} > rules > %s`,
      ],
    ],
    [
      'Localization: Patch sends what is written; labels and finalizers stay',
      [`${NET} > Localization > patches only what is written, keeps labels and finalizers, and restores`],
    ],
    [
      'Globalization: as Localization, for many clusters and without a namespace',
      [
        `${GLOBAL} > Globalization > takes effect on every cluster at once by default, and is taken back`,
        `${GLOBAL} > Globalization > patches only what is written, restores it, and brings a deleted one back`,
        `${GLOBAL} > Globalization > refuses %s`,
      ],
    ],
    [
      'HelmChart: Create, Apply, Patch, Delete; waitReady until it is found; one in use is not deleted, in bounded time',
      [
        `${CHART} > HelmChart > is created, found, and deleted on undo`,
        `${CHART} > HelmChart > is patched, and gets its version back`,
        `${CHART} > HelmChart > that is not found is told with the reason, and undone all the same`,
        `${CHART} > HelmChart > that a Subscription still names is not deleted, which is told in bounded time`,
      ],
    ],
    [
      'Subscription: waitReady waits for every binding and for this very spec',
      [
        `${NET} > Subscription > does not take an old Success for the new spec`,
        `${NET} > Subscription > moves an application by a patch, waits for the new place only, and moves it back`,
        `${TRAPS} > a Success that is older than the spec > is not believed: the action waits for what the cluster has`,
        `${TRAPS} > two Bases for one cluster, which a race of Clusternet makes > do not keep a change from being ready, and what does not follow is told`,
        `${TRAPS} > a Description that stays empty > is waited for no longer than the timeout, and Replace gets the deployment going again`,
      ],
    ],
    [
      'Subscription: what would match no cluster is refused before sending',
      [
        `${NET} > Subscription > refuses %s before anything is sent`,
        `${TRAPS} > clusterAffinity that matches no cluster > removes the feeds everywhere when it is sent, so it is refused`,
        `${TRAPS} > clusters that are not Ready > would take everything down when they alone are chosen, so that is refused, and so is an undo to them`,
      ],
    ],
    [
      'Subscription: a removal that a cluster out of reach cannot confirm is told',
      [
        `${NET} > Subscription > warns when a cluster that is out of reach cannot confirm the stop`,
        `${FAILOVER} > a failover > away from a cluster out of reach says StopUnconfirmed: a condition, an Event, and the workload runs on`,
        `${TRAPS} > a removal > from a cluster out of reach leaves the workload running, on undo too`,
        'crd-bridge/plan/status/projection.test.ts > a stop that a cluster did not confirm > is a condition as soon as it is known, and stays beyond the end',
      ],
    ],
    [
      'PerCluster: one Subscription for each cluster, exactly once, each with a state of its own, taken back by a revert',
      [
        `${CLUSTERS} > a Subscription per cluster > is written for each cluster, tells the state of each, and is taken back everywhere by a revert`,
        `${CLUSTERS} > a Subscription per cluster > goes on where it was when the worker is killed in the middle, and repeats nothing that was done`,
        `${CLUSTERS} > a Subscription per cluster > is deleted wherever it was written, and brought back by a revert`,
        `${CLUSTERS} > one cluster of several > does not take over a Subscription of its name that is not its own`,
      ],
    ],
    [
      'PerCluster: rolls through the clusters of its beginning; a failure or a cancel starts no more',
      [
        `${LANES} > actions per cluster > roll through the clusters as many at once as is said, and start no more after a failure`,
        `${LANES} > actions per cluster > take every cluster through what follows each other in order, whatever another cluster is at`,
        `${LANES} > actions per cluster > are tried again by a person only where they did not succeed, in a new round`,
        `${CLUSTERS} > a Subscription per cluster > stops rolling when it is cancelled, and a revert takes back what was begun`,
        `${CLUSTERS} > a Subscription per cluster > keeps to the clusters of its beginning: one that goes is passed over, one that comes has to wait`,
      ],
    ],
    [
      'KubernetesResource: several documents, namespace of the execution, Apply takes over and names the managers',
      [
        `${OBJECT} > Apply > takes over fields, names whose they were, and restores them`,
        `${OBJECT} > Apply > respects ownership with force: false`,
        `${OBJECT} > Create > says what is done when a later object fails, and undoes that`,
      ],
    ],
    [
      'KubernetesResource: Delete succeeds on NotFound, checks the uid, waits for finalizers within bounds',
      [
        `${OBJECT} > Delete > succeeds when there is nothing, and has nothing to undo`,
        `${OBJECT} > Delete > leaves alone what was created after it, forward and back`,
        `${OBJECT} > Delete > waits for finalizers within bounds and names them`,
      ],
    ],
    [
      'target: acts on another cluster, with inline credentials only, and names the cluster that is unreachable',
      [
        `${TARGET} > actions with a target > act on that cluster only, and are undone there`,
        `${TARGET} > actions with a target > are retried while the cluster is dead, saying which one it is, and succeed when it is back`,
        'activities/core/target-kubeconfig.test.ts > a kubeconfig of somebody else > is refused with %s %j',
      ],
    ],
    [
      'Wait: for a duration a timer, for an object a watch',
      [
        `${STEPS} > a wait for a time > is a timer between its neighbours, shown while it runs, without an activity`,
        'test/actions/wait.test.ts > a wait for an object > goes on when the condition holds: the object comes, changes, and goes',
      ],
    ],
    [
      'Notify: delivered or not, never a secret in it',
      [
        'activities/actions/notify/notify.test.ts > messages over HTTP > Webhook: what runs, where, and the text; headers from Secrets',
        `${STEPS} > a message that is not required > is passed over when it cannot be delivered, and what depends on it goes on`,
      ],
    ],
    [
      'Approval: approvers, quorum, not the requester, expiry',
      [
        'test/admission/approval.test.ts > counts verified, distinct persons other than who asked, and goes on',
        'test/admission/approval.test.ts > ends Failed, Rejected, with what was said',
        'test/admission/approval.test.ts > expires, and can be cancelled while it waits',
      ],
    ],
    [
      'Plan: a nested execution, depth cap, no cycle',
      [
        `${NEST} > a nested plan > runs in an execution of its own, for whoever asked for the whole, with its values, and is undone with it`,
        `${NEST} > a nested plan that runs > is cancelled with the run that it is part of, before that has ended, and can be undone`,
        `${NEST} > a nested plan that runs > goes when the whole is deleted, and leaves no lock behind`,
        `${NEST} > a nested plan that runs > and rolls back goes on with that when the whole is cancelled, until that is forced`,
        `${STEPS} > a nested plan > is undone within its time or that of any undo, whichever is longer`,
        `${NEST} > plans that nest each other > are refused when they lead back, and Invalid when a workflow makes them`,
        `${NEST} > plans that nest each other > five deep run, six deep do not, whatever their names come from`,
        `${STEPS} > a nested plan > is ended by a cancel, which waits for that`,
        'api/plan/validate/nesting.test.ts > plans that run plans > may not run %s',
      ],
    ],
    [
      'preflight tries every action by server-side dry run as the account that will act, reports ownership either way, and changes nothing',
      [
        'test/authority/preflight.test.ts > says of every action how it would go, and leaves everything as it was',
        'test/authority/preflight.test.ts > shows what would be written without its secrets, for files that are not in the cluster yet',
        'test/authority/preflight.test.ts > stops a run that asks for it before anything is created',
      ],
    ],
    [
      'Subscription: waitReady looks into the member clusters where it can, and says where it could not',
      [
        `${FAILOVER} > a failover > moves an application and changes it, and a revert brings everything back`,
        `${TRAPS} > a cluster that cannot be looked into > is judged by its Description alone, and the message says so and why`,
        `${TRAPS} > drift, which nobody repairs > to no replicas at all is not ready, nor is a workload whose controller has not answered`,
        `${TRAPS} > drift, which nobody repairs > is told, by place and without values`,
        'activities/actions/clusternet/child-readiness.test.ts > readiness > %s is waited for',
      ],
    ],
    [
      'Subscription: a removal is confirmed by the cluster itself where it can be asked',
      [
        `${TRAPS} > a removal > that lags is waited for: the action ends when the cluster has let go`,
        `${TRAPS} > a removal > that leaves the object in the cluster is not confirmed`,
        `${TRAPS} > a removal > that Clusternet has yet to do is not confirmed, though the Subscription is gone`,
      ],
    ],
    [
      'Localization: equal priority of another one on the hub or in the plan warns',
      [
        `${TRAPS} > Localizations of equal priority > are told: which of them wins is chance`,
        'api/plan/validate/static.test.ts > Localizations of one plan > warn when chance decides which of them wins',
      ],
    ],
    [
      'Localization: a JSONPatch whose path does not exist, and an override that cannot be read, are refused before sending',
      [
        `${TRAPS} > a JSONPatch whose path does not exist > is passed over without a word when it is sent, so it is refused`,
        `${TRAPS} > a JSONPatch whose path does not exist > is added by a replace of a key, which is sent with a doubt`,
        'test/admission/override-paths.test.ts > a plan with a patch whose path does not exist > is let in, with the path, the value and what is there',
        'test/admission/override-paths.test.ts > a plan with a patch whose path does not exist > is warned of when an execution gives the path',
        `${TRAPS} > an override that cannot be applied > is refused where an action would write it`,
        `${TRAPS} > an override that cannot be applied > stops everything that goes to the cluster, and the wait says which one it is`,
      ],
    ],
  ]),
];
