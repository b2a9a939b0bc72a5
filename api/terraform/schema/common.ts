/** What the specs of several kinds have. */
import { z } from 'zod';

/** Stages at which tasks are called (T10.1). */
export const TASK_STAGES = ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] as const;

/** What happens to a run whose task did not pass. */
export const ENFORCEMENT_LEVELS = ['advisory', 'mandatory'] as const;

/** What targets can be told of (T11.1). */
export const EVENTS = [
  'task_created',
  'task_planning',
  'task_planned',
  'approval_required',
  'approval_timeout',
  'task_applying',
  'task_completed',
  'task_failed',
  'task_cancelled',
  'drift_detected',
  'attention_required',
] as const;

/** The events of a list that names none. */
export const DEFAULT_EVENTS = ['task_completed', 'task_failed'] as const;

/** The name of an object. */
export const objectName = (text: string) =>
  z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a name: lower-case letters, digits, - and .')
    .max(253)
    .describe(text);

/** One key of a Secret or ConfigMap in the namespace of the object. */
export const keyReference = (text: string) =>
  z
    .object({
      name: objectName('Name of the object, in the same namespace.'),
      key: z.string().min(1).max(253).describe('Key in it.'),
    })
    .describe(text);

/** An address over HTTP. */
export const httpUrl = (text: string) =>
  z
    .string()
    .regex(/^https?:\/\/[^\s/@]+(\/\S*)?$/, 'must be an http or https URL without user and password')
    .max(2048)
    .describe(text);

export const variableSchema = z
  .object({
    key: z.string().min(1).max(253).describe('Name of the variable.'),
    value: z.string().max(65_536).optional().describe('Its value; excludes valueFrom.'),
    valueFrom: z
      .object({
        secretKeyRef: keyReference('A key of a Secret; its value is always treated as sensitive.').optional(),
        configMapKeyRef: keyReference('A key of a ConfigMap.').optional(),
      })
      .optional()
      .describe('Where the value is read, with the account of the workspace, when a run begins.'),
    variableType: z
      .enum(['terraform', 'environment'])
      .optional()
      .describe('terraform (default): an input variable; environment: a variable of the process.'),
    valueFormat: z
      .enum(['string', 'hcl'])
      .optional()
      .describe('string (default), or hcl: an expression. Only of terraform variables.'),
    sensitive: z.boolean().optional().describe('Whether logs must not show the value (default false).'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: 'has(self.value) != has(self.valueFrom)',
        message: 'a variable has either value or valueFrom',
      },
      {
        rule: '!has(self.valueFrom) || has(self.valueFrom.secretKeyRef) != has(self.valueFrom.configMapKeyRef)',
        message: 'valueFrom has either secretKeyRef or configMapKeyRef',
      },
      {
        rule: "!has(self.valueFormat) || self.valueFormat != 'hcl' || !has(self.variableType) || self.variableType == 'terraform'",
        message: 'valueFormat hcl is only for terraform variables: the environment holds text',
      },
    ],
  })
  .describe('A variable, with its value or where it is read.');
/** A variable as a workspace or a run says it. */
export type VariableSpec = z.infer<typeof variableSchema>;

/** Paths and text of files. */
export const filesSchema = z
  .record(z.string(), z.string().max(262_144))
  .meta({ maxProperties: 1000 })
  .describe('Files by path, such as main.tf; 256 KiB in all.');

/** Where the configuration comes from (T1.2a). */
export const configurationSchema = z
  .object({
    files: filesSchema.optional(),
    configMapRef: z
      .object({ name: objectName('Name of the ConfigMap, in the same namespace.') })
      .optional()
      .describe('A ConfigMap whose keys are files; a key cannot hold a path, so all are in one folder.'),
    git: z
      .object({
        url: z
          .string()
          .regex(/^https:\/\/[^\s/@]+\/\S+$/, 'must be an https URL without user and password')
          .max(2048)
          .describe('The repository, over https.'),
        ref: z
          .string()
          .regex(/^[^\s~^:?*[\\-][^\s~^:?*[\\]*$/, 'must be a branch, a tag or a commit')
          .max(255)
          .describe('Branch, tag or commit; resolved to a commit when a run begins.'),
        credentialsSecretRef: z
          .object({ name: objectName('Name of the Secret, in the same namespace.') })
          .optional()
          .describe('A Secret with username and password.'),
      })
      .optional()
      .describe('A git repository.'),
    archive: z
      .object({
        url: httpUrl('A tar archive, compressed with gzip.'),
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 digest: 64 lower-case hexadecimal digits')
          .describe('Digest of the archive: it may hold nothing else.'),
      })
      .optional()
      .describe('An archive.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '[has(self.files), has(self.configMapRef), has(self.git), has(self.archive)].filter(x, x).size() == 1',
        message:
          'exactly one of files, configMapRef, git and archive says where the configuration comes from',
      },
    ],
  })
  .describe('Where the configuration comes from: one of its fields.');
/** Where a configuration comes from. */
export type ConfigurationSpec = z.infer<typeof configurationSchema>;
