import { FINALIZERS } from '../../../../api/core/group.js';
import { isObject } from '../../../../api/core/json.js';
import type { Effect, RuleInput, RuleOutput } from './finding.js';

const UNFINISHED = ['', 'Pending', 'Running', 'Unknown'];

/** What a DRPlanExecution of the original, or of its documents, would do differently. */
export function importExecution({ object: { object, namespace } }: RuleInput): RuleOutput {
  const out: RuleOutput = { findings: [], edits: [] };
  const say = (effect: Effect, code: string, path: string, message: string): void =>
    void out.findings.push({ effect, code, path, message });
  const spec = isObject(object.spec) ? object.spec : {};

  if (isObject(spec.planRef)) {
    const { name, namespace: other } = spec.planRef;
    if (typeof other === 'string' && other !== '' && other !== namespace) {
      say(
        'blocked',
        'OtherNamespace',
        'spec.planRef',
        `names a plan in namespace ${other}; an execution and its plan stand in one namespace (this one is in ${namespace}): create it there`,
      );
    } else {
      out.edits.push({ op: 'set', path: ['spec', 'planRef'], value: name });
      say(
        'changed',
        'PlanRefShape',
        'spec.planRef',
        `becomes ${JSON.stringify(name)}: the documents of the original show an object, its definitions had the name`,
      );
    }
  }
  if (spec.operation !== undefined && spec.operationType === undefined) {
    out.edits.push({ op: 'remove', path: ['spec', 'operation'] });
    out.edits.push({ op: 'set', path: ['spec', 'operationType'], value: spec.operation });
    say(
      'changed',
      'OperationName',
      'spec.operation',
      'becomes operationType, as the definitions of the original had it',
    );
  }
  importState(object, say);
  return out;
}

function importState(
  object: RuleInput['object']['object'],
  say: (effect: Effect, code: string, path: string, message: string) => void,
): void {
  if (!isObject(object.status)) return;
  const phase = typeof object.status.phase === 'string' ? object.status.phase : '';
  if (phase === 'Canceled') {
    say(
      'note',
      'CancelSpelling',
      'status.phase',
      'is Canceled, which is read as Cancelled; a cancelled execution can be reverted here',
    );
  }
  if (UNFINISHED.includes(phase)) {
    say(
      'differs',
      'Abandoned',
      'status.phase',
      `is ${phase === '' ? 'empty' : phase}: nobody knows how far it came, so it ends Failed, AbandonedByPreviousController, and frees its plan; let it end under the original, or look at what it has done`,
    );
  } else {
    say(
      'note',
      'Record',
      'status',
      'is the record of a run: it is left as it is and never written again, as creating it would start the plan',
    );
  }
  const finalizers = object.metadata.finalizers;
  if (Array.isArray(finalizers) && finalizers.includes(FINALIZERS.legacyExecution)) {
    say(
      'note',
      'FinalizerRemoved',
      'metadata.finalizers',
      `${FINALIZERS.legacyExecution} is removed by the bridge; without it the object could not be deleted once the original is gone`,
    );
  }
}
