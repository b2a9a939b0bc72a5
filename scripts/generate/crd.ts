import { structuralSchema } from './structural.js';
import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { StructuralSchema } from './structural.js';

/** The schema of a kind, as in its CRD. */
export function kindSchema(row: KindDescriptor): StructuralSchema {
  return {
    type: 'object',
    description: row.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'API version of the object.' },
      kind: { type: 'string', description: 'Kind of the object.' },
      metadata: { type: 'object' },
      spec: structuralSchema(row.spec),
      ...(row.status !== undefined && { status: structuralSchema(row.status) }),
    },
  };
}

/** The CustomResourceDefinition of a kind. */
export function crd(row: KindDescriptor): object {
  const { plural } = row;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${row.group}` },
    spec: {
      group: row.group,
      scope: row.scope,
      names: {
        kind: row.kind,
        listKind: `${row.kind}List`,
        plural,
        singular: row.kind.toLowerCase(),
        shortNames: [row.shortName],
        categories: ['dr'],
      },
      versions: [
        {
          name: row.version,
          served: true,
          storage: true,
          ...(row.status !== undefined && { subresources: { status: {} } }),
          additionalPrinterColumns: row.columns,
          ...(row.selectable.length > 0 && {
            selectableFields: row.selectable.map((jsonPath) => ({ jsonPath })),
          }),
          schema: { openAPIV3Schema: kindSchema(row) },
        },
      ],
    },
  };
}
