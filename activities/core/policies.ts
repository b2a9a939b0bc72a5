import { policyFor } from '../../api/plan/policy.js';
import type { Policy } from '../../api/plan/policy.js';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPolicy, DRPolicySpec } from '../../api/plan/schema/policy.js';
import type { KubeClient } from '../../kube/client.js';
import { isRetryable, KubeError } from '../../kube/error.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';

/** The policies for namespaces, as they are now. */
export interface Policies {
  /**
   * While the API server does not answer, the policies read last still hold: a failover must not wait only to read the
   * same ones again.
   *
   * @throws KubeError when they could not be read at all: then nothing is done
   */
  of(namespace: string): Promise<Policy>;
  /** Reads them anew the next time: nothing is refused by policies that may have changed since. */
  forget(): void;
}

/** A change of a policy counts after this time at the latest. */
const FRESH_MS = 5000;

/** Policies read with the controller's own rights. */
export function createPolicies(kube: KubeClient): Policies {
  let reading: { at: number; specs: Promise<DRPolicySpec[]> } | undefined;
  let last: DRPolicySpec[] | undefined;
  async function read(): Promise<DRPolicySpec[]> {
    try {
      const { items } = await kube.list<DRPolicy>({ apiVersion: API_VERSION, kind: 'DRPolicy' });
      last = items.map(({ spec }) => spec);
      return last;
    } catch (error) {
      // An installation whose definitions are older has no policies.
      if (error instanceof KubeError && error.reason === 'KindNotFound') return [];
      if (last !== undefined && isRetryable(error)) return last;
      throw error;
    }
  }
  return {
    async of(namespace) {
      if (reading === undefined || Date.now() - reading.at > FRESH_MS) {
        const specs = read();
        reading = { at: Date.now(), specs };
        specs.catch(() => {
          reading = undefined;
        });
      }
      return policyFor(namespace, await reading.specs);
    },
    forget() {
      reading = undefined;
    },
  };
}

/**
 * A client that sends nothing that the policy refuses, whatever asks it to. The kinds count, not the operations: a step
 * of an allowed operation, such as an undo, is allowed with it.
 */
export function guarded(kube: KubeClient, policy: Policy): KubeClient {
  const check = (object: Record<string, unknown>): void => {
    const why = policy.refuseObject(object);
    if (why !== undefined) throw new KubeError(why, { code: 422, reason: 'PolicyRefused' });
  };
  const keyed = ({ apiVersion, kind, name, namespace }: ObjectKey, patch: unknown): KubeObject => ({
    ...(typeof patch === 'object' && patch !== null && !Array.isArray(patch) ? patch : {}),
    apiVersion,
    kind,
    metadata: {
      ...(patch as { metadata?: KubeObject['metadata'] } | undefined)?.metadata,
      name,
      ...(namespace !== undefined && { namespace }),
    },
  });
  return {
    ...kube,
    async create(object, options) {
      check(object);
      return kube.create(object, options);
    },
    async replace(object, options) {
      check(object);
      return kube.replace(object, options);
    },
    async patch(key, patch, options) {
      check(keyed(key, patch));
      return kube.patch(key, patch, options);
    },
    async delete(key, options) {
      check(keyed(key, undefined));
      return kube.delete(key, options);
    },
    as: (who) => guarded(kube.as(who), policy),
  };
}
