import { z } from 'zod';
import type { KubernetesObject } from '../../core/schema.js';

/** Classes of objects with which an account could get more than it was given; refused unless a policy allows them. */
export const ESCALATIONS = ['RBAC', 'Admission', 'APIExtensions', 'Credentials', 'PrivilegedPods'] as const;
/** One of them. */
export type Escalation = (typeof ESCALATIONS)[number];

const PATTERN = /^([a-z0-9]([-a-z0-9]*[a-z0-9])?|[a-z0-9]([-a-z0-9]*)\*|\*)$/;
const namespacePattern = z
  .string()
  .min(1)
  .max(64)
  .regex(PATTERN, 'must be the name of a namespace, such as shop, or its beginning and *, such as shop-*');
const HOST = /^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?$|^\[?[0-9a-f:.]+\]?(:[0-9]{1,5})?$/;
const host = z
  .string()
  .min(1)
  .max(260)
  .regex(HOST, 'must be a host such as gslb.example.com, *.example.com, 10.1.2.3 or gslb.example.com:8443');

export const kindRuleSchema = z
  .object({
    apiGroups: z.array(z.string().max(253)).min(1).max(100).describe('API groups; "" is core, "*" is any.'),
    kinds: z.array(z.string().min(1).max(63)).min(1).max(200).describe('Kinds; "*" is any.'),
    operations: z
      .array(z.enum(['Create', 'Apply', 'Patch', 'Replace', 'Delete']))
      .min(1)
      .max(5)
      .optional()
      .describe('What may be done with them (default: all). A Job is a Create.'),
    namespaces: z
      .array(namespacePattern)
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Namespaces in which: names, "prefix*", or "*". Default: that of the plan, and kinds without one.',
      ),
  })
  .describe('Kinds that actions may write.');
/** Kinds that actions may write. */
export type KindRule = z.infer<typeof kindRuleSchema>;

export const policySpecSchema = z
  .object({
    namespaces: z
      .array(namespacePattern)
      .max(1000)
      .optional()
      .describe('Namespaces of the plans that this is about: names, "prefix*", or "*". Default: all.'),
    serviceAccounts: z
      .array(z.string().min(1).max(253))
      .max(1000)
      .optional()
      .describe('Accounts that plans may act as. Absent: any that their author and requester may use.'),
    kinds: z
      .array(kindRuleSchema)
      .max(500)
      .optional()
      .describe('What actions may write. Absent: what the account may, but for escalations.'),
    hosts: z
      .array(host)
      .max(1000)
      .optional()
      .describe(
        'Hosts that HTTP and Notify may reach: names, "*.domain", addresses, each with or without ":port". Absent: what the egress policy of the worker allows.',
      ),
    clusters: z
      .array(host)
      .max(1000)
      .optional()
      .describe('API servers that a target may be, written as hosts are. Absent: any that is reachable.'),
    allow: z
      .array(z.enum(ESCALATIONS))
      .max(ESCALATIONS.length)
      .optional()
      .describe(
        'Escalations that are refused otherwise. RBAC: roles and bindings. Admission: webhooks, admission policies, DRPolicies. APIExtensions: definitions and APIServices. Credentials: tokens and certificates. PrivilegedPods: pods with rights on their node.',
      ),
  })
  .describe(
    'What plans may do. A list limits as soon as one policy for the namespace has it; lists of several policies add up.',
  );
/** Spec of a DRPolicy. */
export type DRPolicySpec = z.infer<typeof policySpecSchema>;

/** A DRPolicy object; it has no namespace. */
export type DRPolicy = KubernetesObject<DRPolicySpec, Record<string, never>>;
