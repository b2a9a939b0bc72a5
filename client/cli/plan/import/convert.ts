import { ANNOTATIONS, API_VERSION } from '../../../../api/core/group.js';
import { isObject } from '../../../../api/core/json.js';
import { checkObjects } from '../manifests/check.js';
import { segmentsOf } from '../manifests/locate.js';
import type { DrObject } from '../manifests/objects.js';
import type { Surroundings } from '../manifests/surroundings.js';
import type { Edit, Finding, ImportChoices, RuleInput, RuleOutput } from './finding.js';
import { importExecution } from './rules-execution.js';
import { importPlan } from './rules-plan.js';
import { importWorkflow } from './rules-workflow.js';
import { isStored, LAST_APPLIED, writtenIn } from './written.js';

/** An object with what was found and what becomes of it. */
export interface ImportedObject {
  source: DrObject;
  findings: Finding[];
  edits: Edit[];
  /** To be applied; undefined for the record of a run, which must never be created again. */
  converted: Record<string, unknown> | undefined;
}

/** The original has no policies: one is what it says. */
const importPolicy = (): RuleOutput => ({ findings: [], edits: [] });

const RULES = {
  DRWorkflow: importWorkflow,
  DRPlan: importPlan,
  DRPlanExecution: importExecution,
  DRPolicy: importPolicy,
};

/**
 * Compares objects of the original controller with what they would mean here, and converts them: only what must change
 * is changed. What is still refused after the conversion is `blocked`.
 */
export function importObjects(
  objects: readonly DrObject[],
  choices: ImportChoices,
  around: Surroundings,
): ImportedObject[] {
  const changed = objects.map((object) => {
    const written = writtenIn(object.source.value);
    const input: RuleInput = { object, choices, written, all: objects };
    const { findings, edits } = RULES[object.kind](input);
    return { object, findings, edits, after: { ...object, object: edited(object.object, edits) } };
  });
  const checked = checkObjects(
    changed.map(({ after }) => after),
    around,
  );
  return changed.map(({ object, findings, edits, after }, index) => {
    const blocked = (checked[index]?.problems ?? []).flatMap((problem): Finding[] => {
      if (problem.reason === 'WorkflowNotFound') {
        return [{ effect: 'note', code: problem.reason, path: problem.path, message: problem.message }];
      }
      if (problem.severity === 'error') {
        return [{ effect: 'blocked', code: problem.reason, path: problem.path, message: problem.message }];
      }
      if (problem.reason !== 'UnknownField') return [];
      const message =
        'is no field: the original dropped it when it was stored, so it never had an effect; remove it';
      return [{ effect: 'note', code: 'UnknownField', path: problem.path, message }];
    });
    const isRecord = object.kind === 'DRPlanExecution' && (isStored(object.source.value) || hasPhase(object));
    return {
      source: object,
      findings: isRecord ? findings.filter(({ effect }) => effect !== 'changed') : [...findings, ...blocked],
      edits: isRecord ? [] : edits,
      converted: isRecord ? undefined : applicable(after.object),
    };
  });
}

const hasPhase = ({ object }: DrObject): boolean =>
  isObject(object.status) && object.status.phase !== undefined;

function edited(object: DrObject['object'], edits: readonly Edit[]): DrObject['object'] {
  if (edits.length === 0) return object;
  const copy = structuredClone(object);
  for (const edit of edits) {
    const parent = edit.path.slice(0, -1).reduce<unknown>((node, key) => member(node, key), copy);
    const last = edit.path.at(-1);
    if (!isObject(parent) || typeof last !== 'string') continue;
    if (edit.op === 'remove') delete parent[last];
    else parent[last] = edit.value;
  }
  return copy;
}

function member(node: unknown, key: string | number): unknown {
  return typeof node === 'object' && node !== null
    ? (node as Record<string | number, unknown>)[key]
    : undefined;
}

/** What a person would apply: without what clusters add. */
function applicable({ kind, metadata, spec }: DrObject['object']): Record<string, unknown> {
  const {
    [LAST_APPLIED]: _,
    [ANNOTATIONS.trigger]: __,
    ...annotations
  } = isObject(metadata.annotations) ? metadata.annotations : {};
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: {
      ...(metadata.name !== undefined && { name: metadata.name }),
      ...(metadata.generateName !== undefined &&
        metadata.name === undefined && { generateName: metadata.generateName }),
      namespace: metadata.namespace,
      ...(isObject(metadata.labels) && { labels: metadata.labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec,
  };
}

/** Edits of an object as paths in its document. */
export function documentEdits({ source, edits }: ImportedObject): Edit[] {
  const base = segmentsOf(source.source.base);
  return edits.map((edit) => ({ ...edit, path: [...base, ...edit.path] }));
}
