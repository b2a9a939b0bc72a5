import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const {
  APART,
  ACTS,
  ATTEMPT,
  BAD,
  BRIDGE,
  CANCEL,
  CHECK,
  CLEANUP,
  CONTROL,
  E2E,
  HOOKS,
  LOOKUP,
  MODES,
  ORDER,
  PARAMS,
  PARTS,
  PLAN,
  RENDER,
  RULES,
  RUNS,
  SEQUENCE,
  STATE,
  STOP,
  UNDO,
  VALUES,
} = FILES;

/** The plan semantics, rule by rule, in our own short words: resources, parameters, order and failure. */
export const SEMANTICS_PLANS: readonly Chapter[] = [
  chapter('S1.', 'Resources (plan semantics, §1)', [
    [
      'YAML of both generations is taken: flat and nested bodies, a multiplier as text or number, both kinds of placeholder',
      [
        `${CHECK} > valid workflows > as the original wrote them: nested bodies, a multiplier as text, both kinds of placeholder`,
        'activities/actions/clusternet/overrides.test.ts > bodies > gives the same from both forms',
        'test/contract/samples.test.ts > samples > of %s are taken as they are, run, and are reverted',
        'test/contract/samples.test.ts > samples > of %s are taken as they are, with executions that are files too',
        'test/contract/samples.test.ts > samples > with %s are refused, and told why',
      ],
    ],
    [
      'Canceled is read as Cancelled',
      [
        `${UNDO} > a revert > undoes what may have happened, leaves out what did not, and takes a Canceled run for a Cancelled one`,
        'crd-bridge/plan/start/revert-target.test.ts > the target of a revert > that is %s',
      ],
    ],
    [
      'fields of later releases do what they say, and what they cannot say is refused, never dropped',
      [`${BAD} > a workflow > %s is Invalid and says where`],
    ],
    [
      'without a mode, comparisons on it are true',
      [
        'api/plan/when/when.test.ts > evaluateWhen > without a mode comparisons on it are true: %s is %s',
        `${MODES} > without a mode > comparisons on it are true, in both spellings`,
      ],
    ],
    [
      'whom a plan acts as must be said somewhere',
      [
        `${APART} > a plan > that names no account is not Ready, says what to do, and starts nothing`,
        `${ATTEMPT} > what ends an action without its effect > fails without a service account unless the controller may act itself`,
        'crd-bridge/plan/start/account.test.ts > is the plan’s, else the default of the bridge, else the controller’s where that is allowed',
      ],
    ],
    [
      'loopback, link-local, metadata and the cluster’s own API are not reached; private addresses are, without a list',
      [
        `${ACTS} > requests > succeed, are retried or fail by their answer, and keep it`,

        'activities/core/egress.test.ts > addresses that are never reached by default > refuses %s [SEC5]',
        'activities/core/egress.test.ts > addresses that are never reached by default > allows %s without a list',
        "activities/core/egress.test.ts > connections > refuses the cluster's own API when its URL holds a name [SEC5]",
      ],
    ],
    [
      'definitions install with kubectl apply: below 200 KB, lists bounded, every field explained',
      [
        `${PARTS} > kubectl > installs the definitions with a plain apply, and shows and explains the kinds`,

        'scripts/generate.test.ts > generated files > are CRDs that kubectl apply can store, and the reference',
        'scripts/generate.test.ts > CRD of %s > bounds every list',
        'scripts/generate.test.ts > CRD of %s > describes every field',
      ],
    ],
    [
      'conditions Ready, Succeeded, Finished, Progressing, FullyReverted with reason and message',
      [
        `${RUNS} > a plan > and workflow say in Ready what was looked at, and change its time with its status only`,
        `${PARTS} > kubectl > waits for Finished on failure too`,
        `${E2E} > an execution > runs, reports everything in status, and leaves the plan Executed`,
        'crd-bridge/plan/kinds/status.test.ts > a plan > is Ready or Invalid, and says why',
      ],
    ],
    [
      'the original’s finalizer is taken off where it is met',
      [
        `${RUNS} > an execution > of the original loses its finalizer when it is met`,
        `${CONTROL} > a deletion > only takes old finalizers away where ours is not there`,
        'crd-bridge/core/run-controller.test.ts > the finalizer of a predecessor is taken off what has ended',
        'test/bridge/takeover.test.ts > begins nothing while the original runs, and takes over what it has left when it stops',
      ],
    ],
    [
      'deleting a record undoes nothing',
      [`${CANCEL} > delete > of an ended execution lets it go and undoes nothing`],
    ],
    [
      'the trigger annotation starts nothing and gets one Warning event',
      [
        `${BRIDGE} > the old trigger annotation > starts nothing and gets one Warning event, however many replicas see it`,
      ],
    ],
    [
      'executor Argo warns and runs natively',
      [
        `${RUNS} > executor Argo > warns, and runs natively all the same`,
        `${CHECK} > rules > Argo warns, other executors are refused`,
      ],
    ],
    [
      'workflow references default to the namespace of the plan',
      [
        `${RUNS} > a plan > uses workflows of its own namespace unless another is named, and is labelled with a single one`,
        `${PLAN} > workflows > must exist, in the namespace of the plan unless another is named`,
      ],
    ],
    [
      'lastExecutionRef and lastExecutionTime change on success only',
      [
        `${RUNS} > a plan > keeps its last ten executions, newest first, and the last success, through deletions and edits`,
        `${STATE} > the end on a plan > makes it Executed, and Ready again by a revert; failure and cancel leave the phase`,
      ],
    ],
    [
      'a mode decides conditions, placeholders and hooks; a plan takes an upgrade and a deletion after an install',
      [
        `${MODES} > a mode > decides conditions, hooks and placeholders; the plan takes an upgrade and a deletion after an install`,
        'api/plan/order/hooks.test.ts > hooks > run in mode %s: %s',
        'crd-bridge/plan/lock/plan-state.test.ts > the end on a plan > is Ready again after a deletion, and Executed by what was there before when that is reverted',
      ],
    ],
    [
      'mode Delete takes apart in reverse what a workflow applies, leaves alone what it cannot take back, and can be reverted',
      [
        'api/plan/actions/delete-mode.test.ts > mode Delete > takes apart in reverse order what a workflow creates and applies',
        'api/plan/actions/delete-mode.test.ts > mode Delete > keeps approvals first and hooks in their place, and leaves out what it cannot take back',
        `${MODES} > a mode > Delete takes apart what a workflow applies, says what it leaves, and a Revert brings it back`,
      ],
    ],
    [
      'hooks run in their mode only, before and after the other actions; rollback hooks around a revert',
      [
        `${HOOKS} > hooks of a run > come before and after the other actions, wherever they stand, and those of other modes are Skipped`,
        `${HOOKS} > hooks of a run > hold back a graph too, and what depends on a hook of another mode goes on`,
        `${HOOKS} > rollback hooks > run around a Revert, in mode Rollback and as work of the Revert`,
        `${MODES} > rollback hooks > run around a Revert and not in the execution`,
      ],
    ],
    [
      'hookCleanup deletes what is in the way before a hook, and what it has created after it, by uid and within bounds',
      [
        `${CLEANUP} > hookCleanup > beforeCreate makes room for the next run, whoever made what is there; without it the hook fails`,
        `${CLEANUP} > hookCleanup > deletes nothing where the condition of the hook is false`,
        `${CLEANUP} > hookCleanup > onSuccess removes what the hook created, says so, and leaves nothing to a revert`,
        `${CLEANUP} > hookCleanup > finds the Jobs of earlier runs, whose names differ`,
        `${HOOKS} > clean-up of hooks > fails the action before it begins when there is no room, and leaves its end as it is when something stays`,
      ],
    ],
    [
      'valueFrom is looked up once before the run, as its account, and kept; what is not there fails it; never a Secret',
      [
        `${LOOKUP} > a value from an object > is looked up once, before the run: the revert goes by what was found then`,
        `${LOOKUP} > a value from an object > may be picked by labels, and an execution gives or overrides it`,
        `${LOOKUP} > a value from an object > that is not there, not one, or not a value fails the execution before any action`,
        `${LOOKUP} > a value from an object > is looked up as the account that the run acts as`,
        `${LOOKUP} > a value from an object > is never that of a Secret`,
      ],
    ],
  ]),
  chapter('S2.', 'Parameters and templates (plan semantics, §2)', [
    [
      'levels merge in order; value before default in each; an entry with neither overrides nothing',
      [
        `${VALUES} > parameters > merge from workflow to plan to stage to execution, value before default in each`,
        `${PARAMS} > mergeParameters > the highest level that gives a value wins, and default counts as a value in every level`,
        `${PARAMS} > mergeParameters > an empty string is a value and overrides, an entry without value and default does not`,
      ],
    ],
    [
      'an unmet required warns in a plan and fails at the start',
      [
        `${VALUES} > parameters > that are required are not satisfied by an empty text`,
        `${BAD} > an execution > without a required parameter fails before any action, and runs with it`,
        `${PARAMS} > mergeParameters > required with %s warns in a plan and is an error at the start`,
        `${RULES} > an execution > brings the parameters that are missing`,
      ],
    ],
    [
      'values have the type that the workflow declares',
      [
        `${VALUES} > parameters > declared as %s have that type at every level`,
        `${PARAMS} > mergeParameters > a value that is no %s is refused: %j`,
        `${PLAN} > parameters > have the declared type`,
      ],
    ],
    [
      'undeclared placeholders make a plan Invalid unless it supplies them',
      [
        `${PLAN} > parameters > that are used must be declared or given`,
        `${BAD} > a plan > %s is Invalid and says where`,
      ],
    ],
    [
      'unknown and unused parameters warn',
      [
        `${VALUES} > parameters > that nobody knows or uses are warned of, and are let in`,
        `${PLAN} > parameters > that nobody knows are most likely misspelt`,
        'api/plan/validate/static.test.ts > unused parameters > are told, each where it is declared',
      ],
    ],
    [
      'names: params, planName, executionName, operation, mode, outputs of the same workflow; phase also of what was skipped',
      [
        `${VALUES} > placeholders > name the plan, the execution, the operation and outputs; the phase also of what was skipped`,
        `${RENDER} > renderString > fills in parameters, names and outputs`,
        `${E2E} > an execution > evaluates conditions of actions over outputs, in both spellings`,
      ],
    ],
    [
      'a default in the placeholder stands in for what is missing or empty',
      [
        `${VALUES} > placeholders > have a default for what is missing or empty`,
        `${RENDER} > renderString > default stands in for what is missing or empty`,
      ],
    ],
    [
      'any other braces that name ours are errors; all else stays literal',
      [
        `${VALUES} > placeholders > that cannot work are refused at admission: %s`,
        `${VALUES} > placeholders > leave all other braces and parentheses as they are`,

        'api/plan/template/placeholders.test.ts > findPlaceholders > is an error: %s',
        'api/plan/template/placeholders.test.ts > findPlaceholders > stays literal: %s',
        `${RENDER} > renderValue > shell and Kubernetes variables survive`,
      ],
    ],
    [
      'undefined parameters fail before any action; undefined outputs at admission where they can be seen',
      [
        `${VALUES} > placeholders > without a value fail the execution before any action, where nobody has looked before`,
        `${VALUES} > placeholders > that cannot work are refused at admission: %s`,

        'api/plan/snapshot/compile.test.ts > parameters > fails before any action runs: missing, wrongly typed, undefined',
        'api/plan/snapshot/compile.test.ts > outputs > refuses outputs of unknown and of later actions',
        'api/plan/validate/static.test.ts > outputs > that it can never have: %s',
      ],
    ],
    [
      'a value can never add a key, a document, a header or a placeholder',
      [
        `${VALUES} > a value > of any content lands as one value: in a URL, a header, a JSON body and a manifest`,

        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a manifest [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a JSON body [SEC8]',
        `${RENDER} > renderString > a value that looks like a placeholder is not filled in again`,
      ],
    ],
    [
      'an unquoted whole scalar takes the type of the value, a quoted one is text',
      [
        `${VALUES} > a value > takes its type where it is a whole unquoted scalar, and is text where it is quoted`,
        `${RENDER} > renderDocuments > an unquoted placeholder takes the type of the value, all others are text`,
      ],
    ],
    [
      'in a URL a value goes in verbatim in the authority and encoded in path and query',
      [
        `${VALUES} > a value > of any content lands as one value: in a URL, a header, a JSON body and a manifest`,
        `${VALUES} > a value > may be the host of a URL, and then has to make a valid one`,
        `${RENDER} > renderUrl > %s`,
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in path and query of a URL [SEC8]',
      ],
    ],
    [
      'line ends in a header value are refused',
      [
        `${VALUES} > a value > with a line end never becomes a header`,
        `${RENDER} > renderHeaderValue > refuses %j`,
      ],
    ],
  ]),
  chapter('S4.', 'Order and failure (plan semantics, §4)', [
    [
      'stages without any dependsOn run in list order',
      [
        `${SEQUENCE} > order > of stages is that of the list without dependsOn, whatever maxConcurrentStages says`,
        `${ORDER} > order of stages > without dependsOn is list order`,
      ],
    ],
    [
      'with dependsOn a graph, forward references allowed, one at a time unless maxConcurrentStages says more',
      [
        `${SEQUENCE} > order > of stages is a graph with dependsOn, forward too, up to maxConcurrentStages %s at once`,
        `${ORDER} > order of stages > with dependsOn is a graph, forward references allowed, one at a time unless maxConcurrentStages says more`,
      ],
    ],
    [
      'cycles and unknown names are errors',
      [
        `${RULES} > a plan > with %s is refused`,
        'api/core/graph.test.ts > checkGraph > finds the cycle that an added edge closes',
      ],
    ],
    [
      'which stages could run together is shown',
      [
        'client/cli/plan/render/waves.test.ts > stages that could run together > are those whose dependencies are all done',
        'test/e2e/cli.test.ts > drover > shows which stages could run together',
      ],
    ],
    [
      'parallel workflows run at once, up to maxConcurrency; else in order',
      [
        `${SEQUENCE} > order > of workflows is all at once with parallel, up to maxConcurrency, else one by one`,
        `${ORDER} > order of workflows and actions > runs parallel workflows at once, up to maxConcurrency`,
      ],
    ],
    [
      'actions run in order, with any dependsOn as a graph',
      [
        `${SEQUENCE} > order > of actions is that of the list, or a graph with any dependsOn`,
        `${ORDER} > order of workflows and actions > runs actions as a graph when any has a dependency`,
      ],
    ],
    [
      'when is CEL over params, outputs, modes and phases, in every accepted spelling',
      [
        `${SEQUENCE} > conditions > that are false satisfy who depends on the skipped, for stages and actions alike`,

        'api/plan/when/when.test.ts > evaluateWhen > %s is %s',
        `${E2E} > an execution > evaluates conditions of actions over outputs, in both spellings`,
      ],
    ],
    [
      'workflow FailFast and Continue, stage Stop, FailFast and Continue, plan Stop and Continue: the whole matrix',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${SEQUENCE} > failure policies > let running stages finish when the plan stops`,
        `${ORDER} > failure policies > %s`,
      ],
    ],
    [
      'a skip by an own condition satisfies dependents; one by failure spreads',
      [
        `${SEQUENCE} > conditions > that are false satisfy who depends on the skipped, for stages and actions alike`,
        `${SEQUENCE} > failure policies > let a failure spread along dependencies of actions, past what is independent`,
        `${ORDER} > order of stages > goes on after a stage that its own condition skipped`,
        `${ORDER} > failure policies > %s`,
      ],
    ],
    [
      'a run in which nothing succeeded and nothing was meant to be skipped ends Failed, NothingExecuted',
      [
        `${SEQUENCE} > conditions > that skip everything on purpose make a success, and a run that did nothing else a failure`,
        `${ORDER} > failure policies > fails a run in which nothing was executed and nothing was meant to be skipped`,
      ],
    ],
    [
      'onFailure Pause waits for retry, skip or abort, and reminds',
      [
        `${STOP} > pause > retries the failed action in a new round and goes on`,
        `${STOP} > pause > skips the failed action on request, says by whom, and runs what depends on it`,
        `${STOP} > pause > fails on abort, and is cancelled by a cancel`,
        `${STOP} > pause > reminds while it waits`,
      ],
    ],
    [
      'onFailure Rollback compensates in reverse and ends Failed, RolledBack',
      [
        `${E2E} > onFailure: Rollback > undoes what the run did, ends Failed, and says that it is rolled back`,
        `${STOP} > rollback > undoes in reverse, ends Failed, and says what was not undone`,
      ],
    ],
    [
      'the same workflow may stand twice in a stage: all is keyed by position',
      [
        `${E2E} > an execution > runs workflows of a parallel stage at once, and the same workflow twice in a stage`,
      ],
    ],
  ]),
];
