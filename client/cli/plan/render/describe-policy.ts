import type { DRPolicy, KindRule } from '../../../../api/plan/schema/policy.js';
import { fieldLines, timeWithAge } from '../../core/render/fields.js';
import { oneLine } from '../../core/render/text.js';
import { age } from '../../core/render/time.js';
import type { DescribeOptions } from './describe-execution.js';

/** A policy: for whom it is, and what it lets their plans do. */
export function describePolicy({ metadata, spec }: DRPolicy, { style, now }: DescribeOptions): string[] {
  const list = (values: readonly string[] | undefined, absent: string): string =>
    values === undefined ? absent : values.map(oneLine).join(', ') || 'none';
  const { creationTimestamp } = metadata;
  const lines = fieldLines(
    [
      ['Policy', style.bold(metadata.name)],
      ['For plans in', list(spec.namespaces, 'all namespaces')],
      ['Accounts', list(spec.serviceAccounts, 'any that author and requester may use')],
      ['Hosts', list(spec.hosts, 'what the egress policy of the worker allows')],
      ['API servers', list(spec.clusters, 'any that is reachable')],
      ['Allows', list(spec.allow, 'no escalation')],
      ['Kinds', spec.kinds === undefined ? 'what the account may, but for escalations' : undefined],
      ['Created', timeWithAge(creationTimestamp, age(creationTimestamp, now))],
    ],
    style,
  );
  if (spec.kinds === undefined) return lines;
  return [...lines, '', style.dim('Kinds:'), ...spec.kinds.map((rule) => `  ${ruleText(rule)}`)];
}

function ruleText({ apiGroups, kinds, operations, namespaces }: KindRule): string {
  const groups = apiGroups.map((group) => (group === '' ? 'core' : oneLine(group))).join(', ');
  const where = namespaces === undefined ? '' : ` in ${namespaces.map(oneLine).join(', ')}`;
  return `${operations?.join(', ') ?? 'anything'} with ${kinds.map(oneLine).join(', ')} of ${groups}${where}`;
}
