import type { Action, DRPlan, DRWorkflow, Parameter, WorkflowReference } from '../../../../api/plan/types.js';
import { blockOf, operationOf } from '../../../../api/plan/actions/action-defaults.js';
import { findDescriptor } from '../../../../api/plan/actions/table.js';
import { describeCondition } from './attention.js';
import type { DescribeOptions } from './describe-execution.js';
import { fieldLines, timeWithAge } from '../../core/render/fields.js';
import { lastEnded } from './last-ended.js';
import { table } from '../../core/render/table.js';
import { oneLine } from '../../core/render/text.js';
import { age, elapsed } from '../../core/render/time.js';
import { renderTree, type TreeNode } from '../../core/render/tree.js';
import { describeWaves } from './waves.js';

/** Finds a workflow by the reference in a stage; undefined when it is not there. */
export type WorkflowLookup = (reference: WorkflowReference['workflowRef']) => DRWorkflow | undefined;

/** A plan, whole: state, what could run together, its stages with their workflows and actions, its history. */
export function describePlan(plan: DRPlan, lookup: WorkflowLookup, options: DescribeOptions): string[] {
  const { style, now, width } = options;
  const { metadata, spec, status = {} } = plan;
  const phase = status.phase ?? 'Unknown';
  const last = lastEnded(status);
  const lines = fieldLines(
    [
      ['Plan', `${style.bold(metadata.name)} in namespace ${metadata.namespace}`],
      ['Description', oneLine(spec.description ?? '')],
      ['Phase', `${style.sign(phase)} ${style.phase(phase)}`],
      ['Running', status.currentExecution?.name],
      ['Last execution', last && `${last.name} ${style.phase(last.phase)}`],
      ['Ended', timeWithAge(last?.completionTime, age(last?.completionTime, now))],
      ['Last success', last?.name === status.lastExecutionRef ? undefined : status.lastExecutionRef],
      ['Failure policy', spec.failurePolicy ?? 'Stop'],
      ['On failure', spec.onFailure ?? 'Stop'],
      ['Acts as', spec.serviceAccountName ?? 'the default of the installation'],
      ['Parameters', parametersText(spec.globalParams)],
      ['Could run together', describeWaves(spec.stages, spec.maxConcurrentStages ?? 1)],
    ],
    style,
  );
  const ready = (status.conditions ?? []).filter(({ status: value }) => value !== 'True');
  if (ready.length > 0) {
    lines.push('', ...ready.map((condition) => style.bad(oneLine(describeCondition(condition)))));
  }
  const layout = { style, wrapNotes: true, ...(width !== undefined && { width }) };
  lines.push('', style.dim('Stages:'), ...renderTree(planTree(plan, lookup), layout));

  const history = status.executionHistory ?? [];
  if (history.length > 0) {
    const rows = history.map((record) => [
      record.name,
      record.operationType,
      style.phase(record.phase),
      elapsed(record, now),
      record.startTime === undefined ? '' : `${age(record.startTime, now)} ago`,
    ]);
    const head = ['EXECUTION', 'OPERATION', 'PHASE', 'DURATION', 'STARTED'];
    lines.push('', style.dim('History:'), ...table(head, rows).map((line) => `  ${line}`));
  }
  return lines;
}

function planTree({ spec }: DRPlan, lookup: WorkflowLookup): TreeNode[] {
  return spec.stages.map((stage) => ({
    label: stage.name,
    kind: stage.parallel === true ? 'parallel' : '',
    note: remarks([
      stage.dependsOn?.length ? `after ${stage.dependsOn.join(', ')}` : '',
      stage.when === undefined ? '' : `when ${stage.when}`,
      stage.failurePolicy === undefined ? '' : `failure policy ${stage.failurePolicy}`,
      stage.description ?? '',
    ]),
    children: stage.workflows.map(({ workflowRef, params }) => {
      const workflow = lookup(workflowRef);
      const place = workflowRef.namespace === undefined ? '' : `${workflowRef.namespace}/`;
      return {
        ...(workflow === undefined
          ? { phase: 'Invalid' }
          : workflow.status?.phase === 'Invalid'
            ? { phase: 'Invalid' }
            : {}),
        label: `${place}${workflowRef.name}`,
        note: remarks([
          workflow === undefined ? 'there is no such workflow' : '',
          workflow?.status?.phase === 'Invalid' ? readyMessage(workflow) : '',
          parametersText(params) ?? '',
        ]),
        children: (workflow?.spec.actions ?? []).map(actionNode),
      };
    }),
  }));
}

/** A workflow, whole: state, parameters and actions. */
export function describeWorkflow(workflow: DRWorkflow, options: DescribeOptions): string[] {
  const { style, width } = options;
  const { metadata, spec, status = {} } = workflow;
  const phase = status.phase ?? 'Unknown';
  const lines = fieldLines(
    [
      ['Workflow', `${style.bold(metadata.name)} in namespace ${metadata.namespace}`],
      ['Phase', `${style.sign(phase)} ${style.phase(phase)}`],
      ['Failure policy', spec.failurePolicy ?? 'FailFast'],
      ['Could run together', describeWaves(spec.actions)],
    ],
    style,
  );
  if (phase === 'Invalid') lines.push('', style.bad(oneLine(readyMessage(workflow))));
  const parameters = spec.parameters ?? [];
  if (parameters.length > 0) {
    const rows = parameters.map((parameter) => [
      parameter.name,
      parameter.type ?? 'string',
      parameter.required === true ? 'required' : '',
      oneLine(String(parameter.value ?? parameter.default ?? '')),
      oneLine(parameter.description ?? ''),
    ]);
    const head = ['PARAMETER', 'TYPE', '', 'DEFAULT', 'DESCRIPTION'];
    lines.push('', ...table(head, rows));
  }
  const layout = { style, wrapNotes: true, ...(width !== undefined && { width }) };
  return [...lines, '', style.dim('Actions:'), ...renderTree(spec.actions.map(actionNode), layout)];
}

function actionNode(action: Action): TreeNode {
  const operation = operationOf(action);
  return {
    label: action.name,
    kind: operation === undefined ? action.type : `${action.type} ${operation}`,
    note: remarks([
      summaryOf(action),
      action.target === undefined ? '' : `on the cluster of Secret ${action.target.kubeconfigSecretRef.name}`,
      action.dependsOn?.length ? `after ${action.dependsOn.join(', ')}` : '',
      action.when === undefined ? '' : `when ${action.when}`,
      action.rollback === undefined ? '' : 'own rollback',
    ]),
    children: [],
  };
}

function summaryOf(action: Action): string {
  const block = blockOf(action);
  return block === undefined ? '' : (findDescriptor(action.type)?.summary?.(block) ?? '');
}

function readyMessage(object: DRWorkflow): string {
  const ready = object.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined ? 'Invalid' : `${ready.reason}: ${ready.message}`;
}

function parametersText(parameters: readonly Parameter[] | undefined): string | undefined {
  if (parameters === undefined || parameters.length === 0) return undefined;
  return parameters
    .map(({ name, value, default: fallback }) => `${name}=${oneLine(String(value ?? fallback ?? ''))}`)
    .join(' ');
}

const remarks = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('; ');
