import { z } from 'zod';
import { objectReferenceSchema } from '../../core/schema.js';
import { operationField } from '../schema/common.js';
import { isObject } from '../../core/json.js';
import { objectsIn } from '../../core/manifest.js';
import { KEEP_THE_REST, namedLists } from '../../core/named-lists.js';
import type { Problem } from '../../core/problem.js';
import type { Policy } from '../policy.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { renderDocuments, renderString } from '../template/render.js';
import { error, show, warning } from '../../core/fields.js';
import { isLabel, MAX_NAME_LENGTH } from '../validate/names.js';
import { blankScope, isSample, isTemplated, sampled, trySample, withoutBlanks } from '../validate/sample.js';
import { checkTextMaps } from '../validate/text-maps.js';
import type { ActionDescriptor, RefusedPlace, WrittenObject } from './descriptor.js';

const OPERATIONS = ['Create', 'Apply', 'Patch', 'Replace', 'Delete'] as const;

const resourceActionSchema = z
  .object({
    operation: operationField(OPERATIONS),
    manifest: z.string().min(1).describe('One or several Kubernetes objects in YAML.'),
    force: z
      .boolean()
      .optional()
      .describe(
        'Apply only. Absent or true: take over fields that others own and name them; false: a conflict is an error.',
      ),
    patchType: z
      .enum(['merge', 'strategic'])
      .optional()
      .describe(
        'Patch only. merge (default): lists are replaced as a whole; strategic: items of lists are merged by their names, for kinds of Kubernetes itself.',
      ),
    fieldValidation: z
      .enum(['Strict', 'Warn'])
      .optional()
      .describe(
        'What is done about fields that the kind does not have. Strict (default): the action fails; Warn: they are dropped.',
      ),
  })
  .describe('Kubernetes objects of any kind.');
/** KubernetesResource action (in the original: KubernetesResourceAction). */
export type KubernetesResourceAction = z.infer<typeof resourceActionSchema>;

/** KubernetesResource: objects of any kind, in the cluster or in another one. */
export const kubernetesResource = {
  field: 'resource',
  schema: resourceActionSchema,
  title: 'The objects (type KubernetesResource).',
  preflight: 'writes',
  operations: OPERATIONS,
  creates: true,
  targetable: true,
  reference: 'resourceRef',
  outputs: {
    resourceRef: objectReferenceSchema.optional().describe('The object that was written, when there is one.'),
    resourceRefs: z
      .array(objectReferenceSchema)
      .max(256)
      .optional()
      .describe('The objects that were written.'),
  },
  manifest: 'manifest',
  check: checkResource,
  refusals: refusalsOf,
  objects: objectsOf,
  carriesSecret: ({ manifest }) => SECRET_KIND.test(manifest),
} as const satisfies ActionDescriptor<KubernetesResourceAction>;

/** Checks a KubernetesResource action: the manifest is YAML and every document names an object. */
function checkResource(resource: KubernetesResourceAction, _: StepFields, path: string): Problem[] {
  const where = `${path}.manifest`;
  const { manifest } = resource;
  const sample = trySample(where, [manifest], (scope) => objectsIn(renderDocuments(manifest, scope)));
  if ('problems' in sample) return sample.problems;
  const objects = sample.value;
  const operation = resource.operation || 'Create';
  const isOpen = isTemplated(operation);
  return [
    ...checkDocuments(objects, where),
    ...checkNames(manifest, objects, where),
    ...(operation === 'Delete' ? [] : checkValues(objects, where)),
    ...(operation === 'Patch' && resource.patchType !== 'strategic' ? warnOfLists(objects, where) : []),
    ...(isOpen ? [] : checkFit(resource, operation, path)),
  ];
}

/** Fields that belong to one operation only. */
function checkFit(resource: KubernetesResourceAction, operation: string, path: string): Problem[] {
  const owners = { force: 'Apply', patchType: 'Patch' } as const;
  const problems = Object.entries(owners).flatMap(([field, owner]) =>
    resource[field as keyof typeof owners] === undefined || operation === owner
      ? []
      : [
          warning(
            `${path}.${field}`,
            'IgnoredField',
            `has no effect on ${operation}; it belongs to ${owner}`,
          ),
        ],
  );
  if (resource.fieldValidation !== undefined && operation === 'Delete') {
    problems.push(warning(`${path}.fieldValidation`, 'IgnoredField', 'has no effect on Delete'));
  }
  return problems;
}

/** What a message about one of several objects begins with. */
const whichOf = (objects: readonly unknown[], index: number): string =>
  objects.length > 1 ? `document ${index + 1}: ` : '';

const checkValues = (objects: readonly unknown[], path: string): Problem[] =>
  objects.flatMap((object, index) =>
    isObject(object) ? checkTextMaps(object, whichOf(objects, index), path) : [],
  );

/** A merge patch puts a list in the place of another, and whatever is not written in it is gone. */
function warnOfLists(objects: readonly unknown[], path: string): Problem[] {
  return objects.flatMap((object, index) =>
    namedLists(object).map((list) => {
      const names = list.names.map((name) => (isSample(name) ? 'a placeholder' : JSON.stringify(name)));
      const message = `${whichOf(objects, index)}${list.path} replaces the whole list: other items than ${names.join(', ')}, and whatever of these is not written here, is lost; ${KEEP_THE_REST}`;
      return warning(path, 'ReplacesList', message);
    }),
  );
}

function checkDocuments(documents: readonly unknown[], path: string): Problem[] {
  if (documents.length === 0) {
    return [error(path, 'InvalidManifest', 'holds no object; write apiVersion, kind and metadata.name')];
  }
  const seen = new Set<string>();
  return documents.flatMap((document, index) => {
    const which = whichOf(documents, index);
    if (!isObject(document)) {
      return [error(path, 'InvalidManifest', `${which}is ${show(document)}; must be a Kubernetes object`)];
    }
    const problems = checkIdentity(document, which, path);
    const key = identityOf(document);
    if (key !== undefined && seen.has(key)) {
      problems.push(error(path, 'InvalidManifest', `${which}names ${key} again; write each object once`));
    }
    if (key !== undefined) seen.add(key);
    return problems;
  });
}

function checkIdentity(document: Record<string, unknown>, which: string, path: string): Problem[] {
  const problems: Problem[] = [];
  const metadata = isObject(document.metadata) ? document.metadata : {};
  const fields: [string, unknown][] = [
    ['apiVersion', document.apiVersion],
    ['kind', document.kind],
    ['metadata.name', metadata.name],
  ];
  for (const [field, value] of fields) {
    if (typeof value === 'string' && value !== '') continue;
    const hint =
      field === 'metadata.name' && metadata.generateName !== undefined
        ? '; generateName cannot be used, as a repeated attempt must find its object'
        : '';
    problems.push(error(path, 'InvalidManifest', `${which}${field} is ${show(value)}; must be text${hint}`));
  }
  return problems;
}

/** Kinds whose names are labels, by group. */
const LABEL_NAMED: ReadonlySet<unknown> = new Set(['v1/Namespace', 'v1/Service']);

/** Names that the API server accepts for no object; of those with placeholders, what stands beside them. */
function checkNames(manifest: string, documents: readonly unknown[], path: string): Problem[] {
  const objects = documents.map((document) => (isObject(document) ? document : {}));
  const isOpen = objects.some(
    ({ metadata }) => isObject(metadata) && (isSample(metadata.name) || isSample(metadata.namespace)),
  );
  const written = isOpen ? objectsIn(renderDocuments(manifest, blankScope([manifest]))) : [];
  return objects.flatMap(({ apiVersion, kind, metadata }, index) => {
    if (!isObject(metadata)) return [];
    const which = whichOf(objects, index);
    const own = written[index];
    const blank = isObject(own) && isObject(own.metadata) ? own.metadata : {};
    const isLabelNamed = LABEL_NAMED.has(`${String(apiVersion)}/${String(kind)}`);
    const fields = [
      ['name', isLabelNamed ? 'label' : 'segment'],
      ['namespace', 'label'],
    ] as const;
    return fields.flatMap(([field, form]): Problem[] => {
      const name = metadata[field];
      if (typeof name !== 'string' || name === '') return [];
      const fault = isSample(name) ? faultOfOpen(blank[field], form) : faultOf(name, form);
      if (fault === undefined) return [];
      return [error(path, 'InvalidName', `${which}metadata.${field} is ${show(name)}; ${fault}`)];
    });
  });
}

type NameForm = 'label' | 'segment';

const longest = (form: NameForm): number => MAX_NAME_LENGTH[form === 'label' ? 'label' : 'subdomain'];

/** Kinds differ in what characters they allow; no name may change the path of a request. */
function faultOf(name: string, form: NameForm): string | undefined {
  const max = longest(form);
  if (name.length > max)
    return `it has ${name.length} characters, and at most ${max} are allowed: shorten it`;
  if (form === 'label')
    return isLabel(name) ? undefined : 'it may have only lower-case letters, digits and "-"';
  return /^\.\.?$|[/%]/.test(name) ? 'a name cannot be "." or ".." nor hold "/" or "%"' : undefined;
}

function faultOfOpen(blank: unknown, form: NameForm): string | undefined {
  const fixed = typeof blank === 'string' ? withoutBlanks(blank).length : 0;
  const max = longest(form);
  if (fixed <= max) return undefined;
  return `it has ${fixed} characters beside its placeholders, and at most ${max} are allowed: shorten it`;
}

function identityOf(document: Record<string, unknown>): string | undefined {
  const metadata = isObject(document.metadata) ? document.metadata : {};
  const parts = [document.apiVersion, document.kind, metadata.namespace ?? '', metadata.name];
  if (!parts.every((part) => typeof part === 'string' && !isSample(part))) return undefined;
  const [apiVersion, kind, namespace, name] = parts as string[];
  return `${apiVersion}/${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

function refusalsOf(
  { manifest, operation: written }: KubernetesResourceAction,
  policy: Policy,
  planNamespace: string,
): RefusedPlace[] {
  const operation = sampled([written ?? ''], (scope) => renderString(written || 'Create', scope));
  const documents = sampled([manifest], (scope) => objectsIn(renderDocuments(manifest, scope))) ?? [];
  return documents.filter(isObject).map((object) => {
    const metadata = isObject(object.metadata) ? object.metadata : {};
    // Which kinds have no namespace is known to the cluster only, so a missing one is looked at when it runs.
    return {
      at: 'resource.manifest',
      why: policy.refuseObject({ ...object, metadata: { namespace: planNamespace, ...metadata } }, operation),
    };
  });
}

function objectsOf(resource: KubernetesResourceAction, path: string): WrittenObject[] {
  const { manifest, operation, fieldValidation, patchType } = resource;
  if (operation === 'Delete') return [];
  const objects = sampled([manifest], (scope) => objectsIn(renderDocuments(manifest, scope))) ?? [];
  return objects.filter(isObject).map((object, index) => ({
    path: `${path}.manifest`,
    which: whichOf(objects, index),
    object,
    isLenient: fieldValidation === 'Warn',
    isStrategic: patchType === 'strategic',
  }));
}

const SECRET_KIND = /(^|\n|[{,])\s*["']?kind["']?\s*:\s*["']?Secret\b/;
