import { findPending, MAX_COMMENT, pendingApprovals } from '../../../../api/plan/actions/approval-answers.js';
import type { PendingApproval } from '../../../../api/plan/actions/approval-answers.js';
import { ANNOTATIONS, FIELD_MANAGER } from '../../../../api/core/group.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution, StageStatus } from '../../../../api/plan/types.js';
import { CliError } from '../../core/cli-error.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { getObject, keyFor } from '../../core/resources.js';
import { executionArgument } from '../../core/name-argument.js';

/** Options of `drover approve` and `drover reject`. */
export interface AnswerOptions {
  stage?: string;
  action?: string;
  comment?: string;
  yes?: boolean;
}

/** Answers an action of type Approval. */
export async function give(
  context: CommandContext,
  answer: 'approve' | 'reject',
  text: string,
  options: AnswerOptions,
): Promise<number> {
  const name = executionArgument(text);
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const execution = await getObject(kube, 'DRPlanExecution', namespace, name, context.say);
  const { spec, status } = execution;
  if (isTerminalExecution(status?.phase)) {
    throw new CliError(`execution "${name}" has ended already (${status?.phase}); it waits for nobody`);
  }
  const pending = choose(status?.stageStatuses ?? [], name, options);
  const { state } = pending;
  const { users = [], groups = [] } = state.approvers;
  await confirmIntent(
    context.terminal,
    {
      question: `${answer === 'approve' ? 'Approve' : 'Reject'} "${pending.action.name}" of execution ${name}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', spec.planRef],
        ['stage', pending.stage],
        ['asked', state.message],
        ['approvers', [...users, ...groups.map((group) => `group ${group}`)].join(', ')],
        ['approved so far', `${state.answers.length} of ${state.quorum}`],
      ],
    },
    options.yes === true,
  );
  const comment = options.comment?.slice(0, MAX_COMMENT) ?? '';
  const written = await kube.patch<DRPlanExecution>(
    keyFor('DRPlanExecution', namespace, name),
    { metadata: { annotations: { [ANNOTATIONS[answer]]: `${pending.at} ${comment}`.trim() } } },
    { kind: 'merge', fieldManager: FIELD_MANAGER },
  );
  if (written.metadata.annotations?.[ANNOTATIONS[answer]] !== undefined) {
    context.terminal.note(
      context.terminal.noteStyle.warn(
        'nothing verifies who answers in this cluster (no admission webhook): it counts only where the bridge runs with --unverified-approvals',
      ),
    );
  }
  context.terminal.note(`sent ${answer} for ${pending.action.name} to ${namespace}/${name}`);
  context.terminal.note(`next: ${context.say(`watch ${name}`)}`);
  return EXIT.ok;
}

function choose(stages: readonly StageStatus[], name: string, options: AnswerOptions): PendingApproval {
  const fits = pendingApprovals(stages).filter(
    (one) =>
      (options.stage === undefined || one.stage === options.stage) &&
      (options.action === undefined || one.action.name === options.action || one.at === options.action),
  );
  const [only, ...others] = fits;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined) {
    const all = findPending(stages, undefined);
    const what =
      'problem' in all ? all.problem : `waiting: ${all.at} (${all.action.name} in stage ${all.stage})`;
    throw new CliError(`no approval of execution "${name}" fits`, { hints: [what] });
  }
  throw new CliError(`several actions of execution "${name}" wait for an approval`, {
    hints: [`choose with --action: ${fits.map((one) => `${one.at} (${one.action.name})`).join(', ')}`],
  });
}
