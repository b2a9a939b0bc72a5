import { ANNOTATIONS } from '../../../../api/core/group.js';
import { readNesting } from '../../../../api/plan/order/nesting.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { describeCondition } from './attention.js';
import { executionTree } from './execution-tree.js';
import { fieldLines, timeWithAge } from '../../core/render/fields.js';
import { progressText } from './run-progress.js';
import type { Style } from '../../core/render/style.js';
import { withoutRepeats } from '../../core/render/repeats.js';
import { oneLine } from '../../core/render/text.js';
import { age, elapsed } from '../../core/render/time.js';
import { renderTree } from '../../core/render/tree.js';
import { describeWaves } from './waves.js';

/** What a description needs beside the object. */
export interface DescribeOptions {
  style: Style;
  now: number;
  /** Columns of the terminal; undefined when it is not one. */
  width: number | undefined;
  /** Address of the Web UI, when it is known. */
  temporalUi?: string;
  /** What Temporal itself says about the run. */
  temporalState?: string;
}

/** An execution, whole: who, when, how far, and its stages, workflows and actions as a tree. */
export function describeExecution(execution: DRPlanExecution, options: DescribeOptions): string[] {
  const { style, now, width } = options;
  const { metadata, spec, status = {} } = execution;
  const phase = status.phase ?? 'Pending';
  const time = elapsed(status, now);
  const stages = status.stageStatuses ?? [];
  const waves = describeWaves(stages);
  const lines = [
    ...fieldLines(
      [
        ['Execution', `${style.bold(metadata.name)} in namespace ${metadata.namespace}`],
        ['Plan', spec.planRef],
        [
          'Operation',
          spec.operationType === 'Revert' ? `Revert of ${spec.revertExecutionRef}` : spec.operationType,
        ],
        ['Part of', nestingText(execution)],
        ['Run mode', spec.runMode],
        ['Parameters', spec.params?.map(({ name, value }) => `${name}=${oneLine(String(value))}`).join(' ')],
        ['Phase', `${style.sign(phase)} ${style.phase(phase)}${phaseTime(status.phase, time)}`],
        ['Progress', progressText(status)],
        ['Reason', status.reason],
        ['Message', oneLine(status.message ?? '')],
        ['Created', timeWithAge(metadata.creationTimestamp, age(metadata.creationTimestamp, now))],
        ['Started', timeWithAge(status.startTime, age(status.startTime, now))],
        ['Ended', timeWithAge(status.completionTime, age(status.completionTime, now))],
        ['Cancel', cancelText(status.cancelRequest)],
        ['Reverted by', status.revertedBy?.name],
        ['Not undone', status.unreverted?.join(', ')],
        ['Run', status.temporal?.workflowId],
        ['Web UI', webUiAddress(execution, options.temporalUi)],
        ['Temporal', options.temporalState],
        ['Could run together', waves],
      ],
      style,
    ),
  ];
  const conditions = status.conditions ?? [];
  if (conditions.length > 0) {
    lines.push(
      '',
      style.dim('Conditions:'),
      ...conditions.map((condition) => {
        const message = withoutRepeats(condition.message, [status.message ?? '']);
        return `  ${oneLine(describeCondition({ ...condition, message }))}`;
      }),
    );
  }
  if (stages.length > 0) {
    const layout = { style, wrapNotes: true, ...(width !== undefined && { width }) };
    lines.push('', style.dim('Stages:'), ...renderTree(executionTree(stages, now), layout));
  }
  return lines;
}

/** The action of another execution that this one was made for. */
function nestingText({ metadata }: DRPlanExecution): string | undefined {
  const nesting = readNesting(metadata.annotations?.[ANNOTATIONS.nestedIn]);
  return nesting && `execution ${oneLine(nesting.parent.name)}, action ${oneLine(nesting.at)}`;
}

function phaseTime(phase: string | undefined, time: string): string {
  if (time === '') return '';
  return isTerminalExecution(phase) ? ` in ${time}` : ` for ${time}`;
}

function cancelText(request: NonNullable<DRPlanExecution['status']>['cancelRequest']): string | undefined {
  if (request === undefined) return undefined;
  const { via, requestedBy, reason, time } = request;
  return [
    `by ${via ?? 'someone'}`,
    requestedBy === undefined ? '' : `, ${oneLine(requestedBy)} (not verified)`,
    time === undefined ? '' : ` at ${time}`,
    reason === undefined ? '' : `: ${oneLine(reason)}`,
  ].join('');
}

/** Page of a run in the Web UI. */
export function webUiAddress(execution: DRPlanExecution, webUi: string | undefined): string | undefined {
  const temporal = execution.status?.temporal;
  if (webUi === undefined || temporal === undefined) return undefined;
  const path = ['namespaces', temporal.namespace ?? 'default', 'workflows', temporal.workflowId];
  if (temporal.runId !== undefined) path.push(temporal.runId, 'history');
  return `${webUi}/${path.map(encodeURIComponent).join('/')}`;
}
