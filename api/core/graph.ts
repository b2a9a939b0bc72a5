/** Something that may depend on others of its list: a stage in a plan, an action in a workflow. */
export interface GraphNode {
  name: string;
  dependsOn?: readonly string[] | undefined;
}

/** A fault of a dependency graph. */
export type GraphFault =
  | { kind: 'unknown'; index: number; dependency: number; name: string }
  | { kind: 'self'; index: number; dependency: number }
  /** Names along the cycle, the first one repeated at the end. */
  | { kind: 'cycle'; path: string[] };

/** Whether the list is a graph: any dependency makes it one, else it runs in list order (S4.2). */
export const isGraph = (nodes: readonly GraphNode[]): boolean =>
  nodes.some((node) => (node.dependsOn?.length ?? 0) > 0);

/**
 * Positions that each node waits for. Names are unique in a checked list; unknown names are left out, as
 * {@link checkGraph} reports them.
 */
export function dependencies(nodes: readonly GraphNode[]): number[][] {
  const position = new Map(nodes.map((node, index) => [node.name, index]));
  return nodes.map((node) =>
    [...new Set(node.dependsOn ?? [])].flatMap((name) => {
      const index = position.get(name);
      return index === undefined ? [] : [index];
    }),
  );
}

/** Faults of a graph: unknown names, a node that waits for itself, and one cycle if there is any. */
export function checkGraph(nodes: readonly GraphNode[]): GraphFault[] {
  const known = new Set(nodes.map((node) => node.name));
  const faults: GraphFault[] = [];
  nodes.forEach((node, index) => {
    (node.dependsOn ?? []).forEach((name, dependency) => {
      if (name === node.name) faults.push({ kind: 'self', index, dependency });
      else if (!known.has(name)) faults.push({ kind: 'unknown', index, dependency, name });
    });
  });
  const cycle = findCycle(nodes);
  if (cycle !== undefined) faults.push({ kind: 'cycle', path: cycle });
  return faults;
}

/** One cycle of two or more nodes. Iterative, so that two thousand nodes in a row cannot overflow the stack. */
function findCycle(nodes: readonly GraphNode[]): string[] | undefined {
  const edges = dependencies(nodes).map((targets, index) => targets.filter((target) => target !== index));
  const state = new Array<'new' | 'open' | 'done'>(nodes.length).fill('new');
  for (let root = 0; root < nodes.length; root += 1) {
    if (state[root] !== 'new') continue;
    const path: { node: number; next: number }[] = [{ node: root, next: 0 }];
    state[root] = 'open';
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const target = edges[top.node]?.[top.next];
      top.next += 1;
      if (target === undefined) {
        state[top.node] = 'done';
        path.pop();
      } else if (state[target] === 'open') {
        const from = path.findIndex((step) => step.node === target);
        return [...path.slice(from).map((step) => step.node), target].map(
          (index) => nodes[index]?.name ?? '',
        );
      } else if (state[target] === 'new') {
        state[target] = 'open';
        path.push({ node: target, next: 0 });
      }
    }
  }
  return undefined;
}

/** Layers of nodes that could run together: what `describe` shows beside the order that is kept. */
export function layers(nodes: readonly GraphNode[]): number[][] {
  if (!isGraph(nodes)) return nodes.map((_, index) => [index]);
  const edges = dependencies(nodes);
  const depth = new Array<number>(nodes.length).fill(0);
  // A node is at most as deep as there are nodes, so a cycle cannot loop for ever.
  for (let round = 0; round < nodes.length; round += 1) {
    let changed = false;
    edges.forEach((targets, index) => {
      const deepest = Math.max(0, ...targets.map((target) => (depth[target] ?? 0) + 1));
      if (deepest > (depth[index] ?? 0) && deepest < nodes.length) {
        depth[index] = deepest;
        changed = true;
      }
    });
    if (!changed) break;
  }
  const result: number[][] = [];
  depth.forEach((level, index) => (result[level] ??= []).push(index));
  return result.filter((layer) => layer !== undefined);
}
