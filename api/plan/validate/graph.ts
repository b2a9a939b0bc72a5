import { checkGraph } from '../../core/graph.js';
import type { GraphNode } from '../../core/graph.js';
import type { Problem } from '../../core/problem.js';
import { error } from '../../core/fields.js';

/** Dependencies that cannot be met: reasons `UnknownDependency`, `DependencyCycle`. */
export function checkDependencies(nodes: readonly GraphNode[], path: string, what: string): Problem[] {
  return checkGraph(nodes).map((fault) => {
    switch (fault.kind) {
      case 'unknown': {
        const names = nodes.slice(0, 20).map((node) => node.name);
        return error(
          `${path}[${fault.index}].dependsOn[${fault.dependency}]`,
          'UnknownDependency',
          `names ${what} "${fault.name}", which does not exist here; there are ${names.join(', ')}${nodes.length > 20 ? ', …' : ''}`,
        );
      }
      case 'self':
        return error(
          `${path}[${fault.index}].dependsOn[${fault.dependency}]`,
          'DependencyCycle',
          `${what} "${nodes[fault.index]?.name ?? ''}" depends on itself; remove it`,
        );
      case 'cycle':
        return error(
          path,
          'DependencyCycle',
          `dependsOn goes round in a circle, so none of these could start: ${fault.path.join(' → ')}`,
        );
    }
  });
}
