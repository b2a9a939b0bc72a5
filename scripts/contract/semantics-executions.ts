import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const {
  APART,
  ACCIDENT,
  ACTS,
  BAD,
  BIG,
  BRIDGE,
  CANCEL,
  CONTROL,
  E2E,
  GATES,
  NAMING,
  OBJECT,
  ORDER,
  PARTS,
  PROJECTION,
  REVERT,
  RULES,
  RUNS,
  SEQUENCE,
  STRANGE,
  STATE,
  STOP,
  TAKEOVER,
  UNDO,
} = FILES;

/** The plan semantics, rule by rule, in our own short words: executions, Temporal and sizes. */
export const SEMANTICS_EXECUTIONS: readonly Chapter[] = [
  chapter('S5.', 'Execution (plan semantics, §5)', [
    [
      'order of a start: finalizer and stamp, lock, run with a snapshot',
      [
        `${RUNS} > an execution > is marked, then takes its plan, then starts; and the plan is free before it has ended`,
        `${CONTROL} > an object without a run > is admitted, started and recorded, and looked at once more if nothing is heard`,
        'crd-bridge/plan/replicas.test.ts > a start > takes the plan, starts the run and records it',
      ],
    ],
    [
      'later edits of plan and workflows do not touch a run',
      [
        `${E2E} > an execution > runs from its snapshot when plan and workflow are changed or deleted meanwhile`,
      ],
    ],
    [
      'who finds the plan taken is Failed, PlanBusy, naming the holder; nothing queues',
      [
        `${E2E} > an execution > of a busy plan fails and names the holder; nothing queues`,
        `${BRIDGE} > the plan of an execution > goes to one of several executions created at once; the others name the holder [SEC12]`,
      ],
    ],
    [
      'a plan that was not observed yet is awaited',
      [`${E2E} > an execution > created in one go with its plan and workflow waits until they are seen`],
    ],
    [
      'Execute needs phase Ready unless a rerun is allowed',
      [`${E2E} > an execution > needs a Ready plan, unless a rerun is allowed`],
    ],
    [
      'nothing starts after its deadline, not even in the run’s first task',
      [
        `${GATES} > late > is what comes after 15 minutes, or after its own deadline`,
        `${ORDER} > start > does nothing after the deadline`,
        `${ACCIDENT} > while the bridge is away > what came too late, was lost, or lost its object is told when it is back, and nothing starts`,
        `${ACCIDENT} > while the worker is away > a run that nobody takes before its deadline does nothing when somebody does`,
      ],
    ],
    [
      'a restored copy never starts',
      [
        `${BRIDGE} > an execution that must not start > is Failed RestoredCopy when it carries the stamp of another, and keeps that stamp`,
        `${GATES} > a restored copy > with %s`,
        `${ACCIDENT} > an execution that was there before > never runs again from a backup, by its stamp or by what a restore tool has left on it`,
        `${ACCIDENT} > an execution that was there before > under kubectl replace --force: what was read is a copy; what was written runs only where the plan allows`,
        `${RULES} > an execution > that is a copy of another, or uses a name again, is let in to be recorded, and does not start`,
      ],
    ],
    [
      'a used name that a GitOps tool applies again never starts',
      [
        `${GATES} > a name used again > is refused when a GitOps tool applied it`,
        `${GATES} > a name used again > is refused too when the original controller ran it, whose rows have no uid`,
        `${ACCIDENT} > an execution that was there before > is not run again when a GitOps tool prunes and re-creates it, and is by hand or under a new name`,
        `${RULES} > an execution > that is a copy of another, or uses a name again, is let in to be recorded, and does not start`,
      ],
    ],
    [
      'what another controller began is not taken over',
      [
        `${GATES} > an execution of the previous controller > is one without a stamp that already has a phase`,
        'crd-bridge/plan/replicas.test.ts > a cancel of an execution that is not ours > ends it as abandoned: what another controller has done is not known',
        `${TAKEOVER} > begins nothing while the original runs, and takes over what it has left when it stops`,
        `${CONTROL} > while another controller may act > nothing is begun, ended or let go that has no run of ours`,
        `${STATE} > what the original controller has left on a plan > is taken off with an abandoned execution: the lock, and its open row`,
      ],
    ],
    [
      'a run that Temporal has lost is RunLost, only while connected to the Temporal it ran in',
      [
        `${CONTROL} > an object with a run > is concluded when its run has closed or is lost`,
        `${CONTROL} > an object with a run > is left alone too when the Temporal that does not know it turns out to be a new one at the old address`,
        'crd-bridge/plan/replicas.test.ts > a start that was interrupted after it took the plan > is not begun a second time in another Temporal, where nobody can know of the first [SEC12]',
        `${ACCIDENT} > while the bridge is away > what came too late, was lost, or lost its object is told when it is back, and nothing starts`,
        `${ACCIDENT} > while the bridge is away > a bridge that comes back to another Temporal changes nothing, and goes on when it finds the right one`,
        `${BRIDGE} > an execution whose run is in another Temporal > says so, changes nothing, and is deleted only when a person insists; its plan is freed with the run`,
      ],
    ],
    [
      'snapshot, outputs and prior objects outlive Temporal’s retention; a revert needs no history',
      [
        `${UNDO} > a revert > needs no history: the run may be gone from Temporal`,
        'test/admission/reverted-deletion.test.ts > admission refuses to delete what is being reverted',
        'test/admission/reverted-deletion.test.ts > without admission the finalizer holds it until the revert has restored',

        'crd-bridge/plan/start/snapshot-store.test.ts > [F1] costs one write at first, and the next run only says that it is used',
        `${OBJECT} > interruption > keeps large prior state compressed, and refuses what no Secret can hold`,
      ],
    ],
    [
      'more than 8 MiB is refused at start',
      [
        `${RUNS} > an execution > of more than 8 MiB is not started, and says what to do`,
        'api/plan/snapshot/snapshot.test.ts > snapshot parts > refuses more than 8 MiB and says what to do',
      ],
    ],
    [
      'terminal implies that the plan is free',
      [
        `${RUNS} > an execution > is marked, then takes its plan, then starts; and the plan is free before it has ended`,
        `${PROJECTION} > the end > brings everything into a terminal phase, however little was told`,
        `${E2E} > revert > runs custom rollbacks in reverse, frees the plan for another run, and cannot be done twice`,
      ],
    ],
    [
      'a terminal status has its completion time, counters that add up and no item left open',
      [
        `${SEQUENCE} > failure policies > of workflow, stage and plan, in order and in parallel: the whole matrix`,
        `${RUNS} > an execution > is told in Events, whatever becomes of it`,
        `${PROJECTION} > the end > of an execution that never ran has all that a terminal status has`,
        'api/plan/progress.test.ts > summarize > counts every stage and workflow exactly once',
      ],
    ],
    [
      'history: newest first, ten, one row per uid, from start to end, survives deletion',
      [
        `${RUNS} > a plan > keeps its last ten executions, newest first, and the last success, through deletions and edits`,
        `${STATE} > history > keeps ten rows, newest first, one per uid, and never opens one again`,
        `${CANCEL} > delete > of a running execution cancels it, frees the plan and keeps the history row`,
      ],
    ],
    [
      'a terminal execution seen again changes no newer plan status',
      [
        `${STATE} > the end on a plan > seen again, or late, never changes what a newer execution wrote`,
        `${BRIDGE} > a bridge that starts > writes nothing for what has ended`,
      ],
    ],
    [
      'Executed survives Invalid and edits; Ready again after its revert',
      [
        `${RUNS} > a plan > keeps its last ten executions, newest first, and the last success, through deletions and edits`,
        `${BRIDGE} > the plan of an execution > keeps being Executed while it is Invalid`,
        `${BRIDGE} > the plan of an execution > is Executed once, until it is reverted or a rerun is allowed`,
      ],
    ],
    [
      'a plan is Invalid the moment a workflow is missing or invalid, and back when it is',
      [`${BAD} > a plan > becomes Ready when its workflow appears, and Invalid when it goes`],
    ],
    [
      'every way to cancel is one path and idempotent; the running action is stopped, the rest Skipped',
      [
        `${CANCEL} > cancel > by %s stops the running call and says so in status`,
        `${STOP} > cancel > by %s interrupts what runs, skips the rest, and says who asked`,
        `${BRIDGE} > a running execution > is cancelled by the annotation, long before its call would end`,
      ],
    ],
    [
      'a pending execution is cancelled at once',
      [`${CANCEL} > cancel > written before the run began cancels it at once`],
    ],
    ['what was cancelled can be reverted', [`${CANCEL} > cancel > leaves a run that can be reverted`]],
    [
      'during a rollback only force aborts',
      [
        `${UNDO} > a rollback inside a failed run > goes on when a cancel comes, and stops when it is forced`,
        `${STOP} > rollback > goes on when a cancel comes, and stops when it is forced`,
      ],
    ],
    [
      'deletion while running cancels; the finalizer goes when the run is closed, or two minutes after an accepted cancel',
      [
        `${BRIDGE} > a running execution > is cancelled by its deletion, and leaves a history row and a free plan`,
        `${CONTROL} > a deletion > lets go after two minutes of an accepted cancel, never before`,
      ],
    ],
    [
      'with Temporal away the finalizer stays until a person releases it',
      [
        `${CONTROL} > a deletion > waits for a Temporal that does not answer, unless a person releases it`,
        `${APART} > a deletion while Temporal is away > waits and says for what, until a person releases it`,
      ],
    ],
    [
      'admission refuses to delete a referenced workflow and a plan with a live run',
      [
        'test/admission/deletion.test.ts > a workflow stays while a plan uses it, from another namespace too',
        'test/admission/deletion.test.ts > a plan stays while somebody runs on it',
      ],
    ],
    [
      'the deletion of a namespace takes everything with it',
      [
        'test/admission/deletion.test.ts > a namespace goes with everything that is in use in it, and with its running executions',
        `${ACCIDENT} > a namespace that is deleted > takes its live run with it: cancelled, settled, nothing left in Temporal`,
      ],
    ],
    [
      'a run terminated from outside is projected: Failed, RunTerminated',
      [
        `${BRIDGE} > a running execution > is Failed RunTerminated when its run is terminated, and frees the plan`,
        `${PROJECTION} > mirrored progress > keeps the detail of a stage that was ended from outside, closed`,
      ],
    ],
    [
      'a reset run is followed',
      [
        `${RUNS} > an execution > that somebody resets in Temporal is followed: its stage ends first, and is begun again under the same keys`,
      ],
    ],
    [
      'the sweep cancels only runs whose object was gone twice, 30 s apart',
      [
        `${BRIDGE} > a running execution > is cancelled after two live looks when its object was removed by force, and then frees the plan`,
        'crd-bridge/core/orphans.test.ts > cancels a run only when its object was gone twice, 30 s apart',
        `${ACCIDENT} > while the bridge is away > what came too late, was lost, or lost its object is told when it is back, and nothing starts`,
      ],
    ],
    [
      'revert of Succeeded, Failed and Cancelled; of the newest unreverted run unless forced',
      [
        `${UNDO} > a revert > of an older run waits for the newer one, and needs force`,
        `${UNDO} > a revert > undoes what may have happened, leaves out what did not, and takes a Canceled run for a Cancelled one`,

        'crd-bridge/plan/start/revert-target.test.ts > the target of a revert > that is %s',
        'crd-bridge/plan/start/revert-target.test.ts > the target of a revert > is the newest run that still has effects, unless forced',
        `${E2E} > revert > of a failed run undoes what was done`,
      ],
    ],
    [
      'a revert goes in reverse order of completion and includes what may have had an effect',
      [
        `${UNDO} > a revert > undoes by rollbacks of any type and by inverses, the last first, and lists what it cannot undo`,
        `${UNDO} > a revert > undoes what may have happened, leaves out what did not, and takes a Canceled run for a Cancelled one`,
        `${REVERT} > revert > undoes in reverse order of completion and ends Succeeded`,
        `${REVERT} > revert > includes attempted actions of unknown effect and leaves out those without one`,
      ],
    ],
    [
      'custom rollbacks of any type; else the automatic inverse; else Skipped with a reason',
      [
        `${UNDO} > a revert > undoes by rollbacks of any type and by inverses, the last first, and lists what it cannot undo`,

        'activities/core/attempt.test.ts > undo, settle and capture > undoes with the custom rollback where there is one, under the key of what is undone',
        'api/plan/undo/undo.test.ts > planUndo > decides about %s',
        'api/plan/snapshot/compile.test.ts > capture > lets a rollback without a type inherit the type of its action',
      ],
    ],
    [
      'a revert stops at the first failed undo and can go on there',
      [
        `${UNDO} > a revert > stops at the first undo that fails, and the next one goes on there`,
        `${REVERT} > revert > stops at the first failure, lists what is left, and goes on there the next time`,
      ],
    ],
    [
      'what is not undone is listed: FullyReverted=False',
      [
        `${UNDO} > a revert > undoes by rollbacks of any type and by inverses, the last first, and lists what it cannot undo`,
        `${E2E} > revert > says what it could not undo`,
        `${PROJECTION} > the end > tells what a revert left, on the revert and on its target`,
      ],
    ],
    [
      'no worker for 30 s is said in Progressing',
      [
        `${PARTS} > a worker > that is not there for 30 s is missed, and the run goes on when it is back [F0]`,
      ],
    ],
    [
      'admission refuses with the bridge down what would start, and lets all else pass',
      [
        'test/admission/away.test.ts > creates are refused, all else passes, and up heals',
        'test/admission/away.test.ts > a namespace goes even then',
      ],
    ],
    [
      'spec of an execution cannot be changed',
      [
        `${RULES} > an execution > cannot be changed, and can be labelled`,
        `${BAD} > an execution > cannot be changed, and a revert needs a target`,
      ],
    ],
  ]),
  chapter('S6.', 'Temporal and size (plan semantics, §6)', [
    [
      'child workflow per stage, typed activity per action, undo as child',
      [
        'test/replay/replay.test.ts > replays every recorded history',
        `${STOP} > cancel > of a stage’s own workflow cancels the run`,
      ],
    ],
    [
      'workflow ids are readable, at most 200 characters, one per uid',
      [
        `${NAMING} > ids > keeps a workflow id readable and below 200 characters`,
        `${E2E} > an execution > created twice at once runs exactly once`,
      ],
    ],
    [
      'search attributes are registered; where that is refused, runs go on without',
      [`${PARTS} > search attributes > that cannot be registered are gone without`],
    ],
    [
      'mirror steps lay themselves in by sequence; lower ones and late ones are dropped',
      [
        `${PROJECTION} > mirrored progress > drops a lower or equal sequence of the same speaker, and only of that one`,
        `${PROJECTION} > mirrored progress > ends in the same status whatever is repeated, lost or late`,
        'test/bridge/changes.test.ts > applyMirror > arrives by changes alone at the state that the stage is in',
      ],
    ],
    [
      'a refused status is written smaller',
      ['test/bridge/status-writer.test.ts > writes the smaller status when the API server refuses the first'],
    ],
    [
      '200 stages and 2,000 actions are admitted, more are not',
      [
        'test/admission/size.test.ts > workflows, plans and executions of 2,000 actions are answered in time',
        'test/admission/size.test.ts > 200 stages are let in, and one more action than a run may have is not [SEC11]',
        'test/big/long-run.test.ts > succeeds with each effect once and in order, its status below 1 MiB, what is left out in Temporal, and no history near a limit',
      ],
    ],
    [
      'a megabyte of parameters is admitted',
      [
        `${RUNS} > an execution > carries a parameter of a megabyte to its action, and its history does not carry it`,
        'test/admission/size.test.ts > a parameter of a megabyte is let in',
      ],
    ],
    [
      '500 plans and 5,000 executions at once: each runs or is refused clearly, none is lost, none acts twice',
      [
        `${BIG} > plans that executions share > every execution runs, or is refused because its plan is busy, none is lost, each effect happens once`,
      ],
    ],
    [
      'above 800 KiB bodies go first, then messages, never phases',
      [
        'crd-bridge/plan/status/size-guard.test.ts > leaves out bodies first',
        'crd-bridge/plan/status/size-guard.test.ts > then messages, and never phases, reasons or the message of the run',
        'crd-bridge/plan/status/size-guard.test.ts > at its smallest tells every phase of the largest run admitted',
      ],
    ],
    [
      'large and secret bodies stay out of histories',
      [
        `${RUNS} > an execution > carries a parameter of a megabyte to its action, and its history does not carry it`,
        `${ACTS} > a secret in a header > is in no status, event, history, log or object that is kept`,

        'api/plan/snapshot/compile.test.ts > bodies > stay out of the run when they are too large in sum',
        'api/plan/snapshot/compile.test.ts > bodies > stay out when they carry a secret',
      ],
    ],
    [
      'strange input (aliases, depth, length, double keys, NUL, emoji, CRLF, BOM) is let in and runs, or is refused clearly, online and offline alike',
      [
        `${STRANGE} > a manifest with %s is refused [SEC11]`,
        `${STRANGE} > %s is read within the same bounds`,
        `${STRANGE} > a parameter of three hundred levels is refused, in every list of parameters`,
        `${STRANGE} > a name of 10,000 characters of %s is refused [SEC11]`,
        `${STRANGE} > a body of a hundred thousand brackets, and one that is no JSON, bring nothing down [SEC11]`,
        `${STRANGE} > parameters of a megabyte are let in, and of what the API server does not take the reason is told`,
        `${STRANGE} > line ends of Windows, a byte order mark and emoji are let in, and arrive`,
        `${STRANGE} > the bridge has lived through all of it [SEC11]`,
        'test/admission/fuzz.test.ts > stories that the data model allows are let in whole',
        'client/cli/plan/manifests/manifests.test.ts > hostile files > %s',
      ],
    ],
    [
      'under overload nothing is lost or done twice, memory stays within what is granted, servers that ask to wait are obeyed, and a cancel ends within seconds',
      [
        `${BIG} > executions with a plan of their own > are all run, each effect once, within the memory that is granted, while what is cancelled ends within seconds`,
        'crd-bridge/core/queue.test.ts > queue > handles urgent keys before all others and in places of their own, and then what goes on before what begins',
        'crd-bridge/core/queue.test.ts > queue > waits as long as a server has asked for, when that is longer',
        `${CONTROL} > an object without a run > waits where too many runs are not taken up yet, is woken when one is, and then is started`,
        `${CONTROL} > an object without a run > is cancelled at once while it waits, and waits no more`,
      ],
    ],
  ]),
];
