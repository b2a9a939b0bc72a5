import { ANNOTATIONS } from '../../../../api/core/group.js';
import { isObject } from '../../../../api/core/json.js';
import { show } from '../../../../api/core/fields.js';
import type { Effect, RuleInput, RuleOutput } from './finding.js';

type Loose = Record<string, unknown>;
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** What a DRPlan of the original would do differently. */
export function importPlan(input: RuleInput): RuleOutput {
  const out: RuleOutput = { findings: [], edits: [] };
  const { object, namespace } = input.object;
  const spec: Loose = isObject(object.spec) ? object.spec : {};
  const say = (effect: Effect, code: string, path: string, message: string): void =>
    void out.findings.push({ effect, code, path, message });

  if (!spec.serviceAccountName) {
    const { serviceAccount } = input.choices;
    const path = 'spec.serviceAccountName';
    if (serviceAccount !== undefined) {
      out.edits.push({ op: 'set', path: ['spec', 'serviceAccountName'], value: serviceAccount });
      say(
        'changed',
        'NoServiceAccount',
        path,
        `becomes ${serviceAccount}: actions act as this ServiceAccount of the plan's namespace, which needs the rights for them`,
      );
    } else {
      say(
        'differs',
        'NoServiceAccount',
        path,
        'is missing: the original acted with its own rights; here the plan is Invalid unless it names a ServiceAccount, or the installation sets --default-service-account or --controller-identity',
      );
    }
  }
  importParams(listOf(spec.globalParams), 'spec.globalParams', say);
  const graph = listOf(spec.stages).some((stage) => isObject(stage) && listOf(stage.dependsOn).length > 0);
  if (spec.failurePolicy === 'Continue') {
    say(
      'differs',
      'ContinueWorks',
      'spec.failurePolicy',
      `is Continue: later stages run after a failed one${graph ? ', and stages that depend on it are Skipped; later releases of the original ran them' : ''}, and the run ends Failed; early releases of the original stopped all the same`,
    );
  }
  for (const [index, stage] of listOf(spec.stages).entries()) {
    if (isObject(stage)) importStage(stage, `spec.stages[${index}]`, spec, namespace, say);
  }
  importState(input, say);
  return out;
}

type Say = (effect: Effect, code: string, path: string, message: string) => void;

function importParams(params: readonly unknown[], path: string, say: Say): void {
  for (const [index, entry] of params.entries()) {
    if (!isObject(entry)) continue;
    const isAbsent = (value: unknown): boolean => value === undefined || value === null;
    if (isAbsent(entry.value) && !isAbsent(entry.default)) {
      say(
        'differs',
        'DefaultCounts',
        `${path}[${index}].default`,
        `is the value of parameter "${String(entry.name)}" here; the original ignored it in plans, and later releases put an empty text in its place`,
      );
    }
  }
}

function importStage(stage: Loose, path: string, spec: Loose, namespace: string, say: Say): void {
  const { failurePolicy, parallel } = stage;
  const workflows = listOf(stage.workflows);
  const planPolicy = spec.failurePolicy ?? 'Stop';
  const where = `${path}.failurePolicy`;
  const never = 'the original stored this field and never read it';
  if (parallel === true && workflows.length > 1) {
    if (failurePolicy === 'FailFast') {
      say(
        'note',
        'StageFailFast',
        where,
        'is FailFast: a failed workflow cancels the others, as the original always did; Stop would let them finish',
      );
    } else {
      say(
        'differs',
        'SiblingsFinish',
        where,
        `is ${failurePolicy === undefined ? `absent, so the plan's ${show(planPolicy)}` : show(failurePolicy)}: when a workflow fails, those that run beside it finish; the original always cut them off. FailFast does that`,
      );
    }
  } else if (failurePolicy !== undefined && failurePolicy !== planPolicy && failurePolicy !== 'FailFast') {
    say(
      'differs',
      'StagePolicyHeeded',
      where,
      `is ${show(failurePolicy)}, which wins over the plan's ${show(planPolicy)} for this stage; ${never}`,
    );
  }
  for (const [index, use] of workflows.entries()) {
    if (!isObject(use)) continue;
    importParams(listOf(use.params), `${path}.workflows[${index}].params`, say);
    const ref = isObject(use.workflowRef) ? use.workflowRef : {};
    if (!ref.namespace && namespace !== 'default') {
      say(
        'note',
        'WorkflowNamespace',
        `${path}.workflows[${index}].workflowRef`,
        `names no namespace: the workflow is looked for in ${namespace}, the plan's; where its webhook did not run, the original looked in default`,
      );
    }
  }
}

function importState({ object: { object, name, namespace }, all }: RuleInput, say: Say): void {
  const annotations = isObject(object.metadata.annotations) ? object.metadata.annotations : {};
  if (annotations[ANNOTATIONS.trigger] !== undefined) {
    say(
      'differs',
      'TriggerIgnored',
      `metadata.annotations`,
      `${ANNOTATIONS.trigger} starts nothing; create a DRPlanExecution instead, and remove the annotation`,
    );
  }
  const status: Loose = isObject(object.status) ? object.status : {};
  if (status.phase === 'Executed') {
    say(
      'differs',
      'ExecuteOnce',
      'status.phase',
      'is Executed and stays so: the plan is executed again only after a revert, or by an execution with rerun: Allowed',
    );
  }
  if (isObject(status.currentExecution)) {
    say(
      'note',
      'LockHeld',
      'status.currentExecution',
      `names "${String(status.currentExecution.name)}"; the lock is freed once that execution is found to be over`,
    );
  }
  const rows = listOf(status.executionHistory).map((row) => (isObject(row) ? String(row.name) : ''));
  const again = rows.filter((row, index) => row !== '' && rows.indexOf(row) !== index);
  const recreated = all.filter(
    (other) =>
      other.kind === 'DRPlanExecution' &&
      other.namespace === namespace &&
      rows.includes(other.name) &&
      isObject(other.object.spec) &&
      planOf(other.object.spec) === name &&
      !isObject(other.object.status),
  );
  for (const reused of new Set([...again, ...recreated.map((other) => other.name)])) {
    say(
      'differs',
      'NameReused',
      'status.executionHistory',
      `execution name "${reused}" has been used already: an execution that a GitOps tool applies again under a used name is refused here (NameReused); give every run a name of its own`,
    );
  }
}

function planOf(spec: Loose): unknown {
  return isObject(spec.planRef) ? spec.planRef.name : spec.planRef;
}
