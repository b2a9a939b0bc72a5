/** Operations that a type knows (those of the original's first documents, and of its later releases). */
export const OPERATIONS = {
  Localization: ['Create', 'Apply', 'Patch', 'Delete'],
  Globalization: ['Create', 'Apply', 'Patch', 'Delete'],
  HelmChart: ['Create', 'Apply', 'Patch', 'Delete'],
  Subscription: ['Create', 'Apply', 'Patch', 'Delete', 'Replace'],
  KubernetesResource: ['Create', 'Apply', 'Patch', 'Replace', 'Delete'],
} as const;
