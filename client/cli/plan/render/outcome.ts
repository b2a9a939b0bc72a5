import { hasEffects } from '../../../../api/plan/undo/effects.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { attentionOf, describeCondition } from './attention.js';
import { actionMessages, endNote, noteOf } from './execution-tree.js';
import type { Style } from '../../core/render/style.js';
import { withoutRepeats } from '../../core/render/repeats.js';
import { oneLine } from '../../core/render/text.js';
import { elapsed } from '../../core/render/time.js';

/** How a run ended, what failed in it, and what to type next. */
export function outcomeLines(
  execution: DRPlanExecution,
  options: { style: Style; say: (command: string) => string; now: number },
): string[] {
  const { style, say, now } = options;
  const { metadata, spec, status } = execution;
  const phase = status?.phase ?? '';
  const time = elapsed(status ?? {}, now);
  // What failed is shown below, action by action.
  const message = withoutRepeats(endNote(status ?? {}), actionMessages(status?.stageStatuses ?? []));
  const lines = [
    `${style.sign(phase)} ${style.bold(metadata.name)} ${style.phase(phase)}${time === '' ? '' : ` in ${time}`}${
      message === '' ? '' : `: ${oneLine(message)}`
    }`,
  ];
  for (const { path, note } of failedActions(execution)) {
    lines.push(`  ${style.bad(path)}  ${oneLine(note)}`);
  }
  for (const condition of attentionOf(status?.conditions ?? [], true)) {
    lines.push(`  ${style.warn(oneLine(describeCondition(condition)))}`);
  }
  const canBeReverted = spec.operationType === 'Execute' && hasEffects(status?.stageStatuses, status?.undone);
  const next = [`details: ${say(`describe ${metadata.name}`)}`];
  if (phase !== 'Succeeded') next.push(`what happened when: ${say(`logs ${metadata.name}`)}`);
  if (canBeReverted) next.push(`undo it: ${say(`revert ${metadata.name}`)}`);
  if (spec.operationType === 'Revert' && phase !== 'Succeeded' && spec.revertExecutionRef !== undefined) {
    next.push(`go on undoing once the cause is mended: ${say(`revert ${spec.revertExecutionRef}`)}`);
  }
  return [...lines, ...next.map((line) => style.dim(`  ${line}`))];
}

function failedActions(execution: DRPlanExecution): { path: string; note: string }[] {
  return (execution.status?.stageStatuses ?? []).flatMap((stage) =>
    (stage.workflowExecutions ?? []).flatMap((workflow) =>
      (workflow.actionStatuses ?? [])
        .filter((action) => action.phase === 'Failed')
        .map((action) => ({
          path: `${stage.name}/${workflow.workflowRef.name}/${action.name}`,
          note: noteOf(action),
        })),
    ),
  );
}
