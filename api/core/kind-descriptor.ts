import type { z } from 'zod';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  name: string;
  type: 'string' | 'date' | 'integer';
  jsonPath: string;
  description: string;
  /** 1 = only with `-o wide`. */
  priority?: 1;
}

/** What admission writes on objects of a kind. */
export interface AdmissionStamps {
  /** Annotations that only admission and the bridge may write. */
  guarded: readonly string[];
  /** Annotation by which a person cancels; whoever sets it is recorded. */
  cancel: string;
}

/** Roles of `deploy/rbac`: the programs, and what people are given. */
export type AccessRole = 'bridge' | 'worker' | 'view' | 'edit' | 'operator' | 'driller';

/** What a role may do with objects of a kind. */
export interface Access {
  role: AccessRole;
  /** Verbs of the API, or of Drover (see docs/authority.md). */
  verbs: readonly string[];
  /** Absent: the object itself. */
  part?: 'status' | 'finalizers';
  /** Stands above the rule. */
  why?: string;
}

/** What a kind is called; of no weight, so that a command line that only lists objects loads no schema. */
export interface KindName {
  group: string;
  version: string;
  kind: string;
  /** Resource name. */
  plural: string;
  /** As kubectl takes it. */
  shortName: string;
  /** What a person calls one of it. */
  word: string;
  /** What a person calls several. */
  words: string;
  scope: 'Namespaced' | 'Cluster';
}

/**
 * All that is said once about a kind: definitions, rights, webhooks, the reference and the command line are made from it.
 *
 * Seam: a kind of a foreign API group says here that its definition is installed only where there is none, that its
 * admission may fail open, and under which annotation its run's identity stands where its schema prunes status.
 */
export interface KindDescriptor extends KindName {
  description: string;
  spec: z.ZodType;
  /** Absent: the kind has none. */
  status?: z.ZodType;
  columns: readonly PrinterColumn[];
  /** Whether admission looks at what is created, changed and deleted. */
  reviewed: boolean;
  /** Absent: admission writes nothing on objects of this kind. */
  stamps?: AdmissionStamps;
  /** Who may do what; the rules in `deploy/rbac` are made from it. */
  access: readonly Access[];
  /** Paths that field selectors may use. */
  selectable: readonly string[];
}

/** Whether a word of the command line means a kind: what a person calls it, its kind, resource or short name. */
export const isCalled = (kind: KindName, word: string): boolean =>
  [kind.word, kind.words, kind.kind.toLowerCase(), kind.plural, kind.shortName].includes(word.toLowerCase());
