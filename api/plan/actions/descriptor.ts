/** What is said of an action type, in one place: the files beside this one say it, `table.ts` lists them. */
import type { z } from 'zod';
import type { Problem } from '../../core/problem.js';
import type { Policy } from '../policy.js';
import type { Scalar } from '../schema/common.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import type { StepInput } from './step-input.js';

/** What workflow code has to know of a type; it reads it from `traits.ts`, as it must not load schemas. */
export interface ActionTraits {
  /** Workflow code carries it out itself: there is no activity for it, and no handler. */
  readonly isStep?: true;
  /** It waits, perhaps for days, and changes nothing. It has slots of its own, and a cancel does not wait for its end. */
  readonly isWait?: true;
  /** What it has started may go on for a while after it was deleted (the pods of a Job): stopping it has its own bound. */
  readonly lingers?: true;
  /** It has no inverse, so that only a custom rollback undoes it: what one of it is called, such as `an HTTP action`. */
  readonly noInverse?: string;
}

/** Where and why a policy refuses what an action says. */
export interface RefusedPlace {
  /** Path from the action. */
  at: string;
  /** Undefined: nothing is refused there. */
  why: string | undefined;
}

/** An object that an action writes into its own cluster, with samples for its placeholders. */
export interface WrittenObject {
  path: string;
  /** Which of several in one manifest: begins a message. */
  which: string;
  object: Record<string, unknown>;
  /** Unknown fields are dropped rather than refused. */
  isLenient: boolean;
  /** It is a strategic merge patch. */
  isStrategic: boolean;
}

/**
 * An action type. `Block` is what its field of an action holds. What a type does not say has the default that is named
 * here. Every text of a block may hold placeholders, of parameters and of outputs of actions that have ended: the handler
 * fills them in, and whether they can be is checked for all types alike.
 */
export interface ActionDescriptor<Block = unknown> {
  /** Field of an action that holds the block. Unique. */
  readonly field: string;
  readonly schema: z.ZodType<Block>;
  /** What the field is, in the reference. */
  readonly title: string;
  /**
   * What a preflight does: `writes` tries by server-side dry run what the handler would write, as the account that will
   * act; `look` asks the handler, which looks without doing anything; `nothing`: it changes nothing in a cluster, and there
   * is nothing to look at before it runs.
   */
  readonly preflight: 'writes' | 'look' | 'nothing';
  /** Default: a handler carries it out, and undoes it. */
  readonly traits?: ActionTraits;

  /**
   * What `operation` of the block may be; Create where nothing is written. The state before all but Create is captured, and
   * a Patch needs a custom rollback. Absent: it has no operations, and nothing is captured.
   */
  readonly operations?: readonly string[];
  /** Its Replace deletes the object and creates it anew. Default: it is written over. */
  readonly recreates?: true;
  /** It makes objects, which `hookCleanup` can delete. Default: none. */
  readonly creates?: true;
  /** It may act on another cluster, by `target`. Default: `target` is refused. */
  readonly targetable?: true;
  /** `waitReady` has an effect. Default: none. */
  readonly waitsReady?: true;
  /** `clusterExecutionMode: PerCluster` has an effect, with `waitReady`. Default: none. */
  readonly perCluster?: true;
  /** It is answered by a person, which a revert never waits for. */
  readonly asksPerson?: true;
  /** Default of `timeout`, in milliseconds. Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** It repeats by itself what fails: `retryPolicy` decides about that only where it differs from the default. */
  readonly hasOwnBackoff?: true;
  /**
   * What mode Delete makes of it in a workflow that does not say how it is deleted: `derived` deletes the object that
   * `name` and `namespace` of the block name, `kept` carries it out as it is, `first` does so before all else. Default:
   * it is skipped.
   */
  readonly deletion?: 'derived' | 'kept' | 'first';
  /** Outputs that actions of this type have and others never, each optional. */
  readonly outputs?: Readonly<Record<string, z.ZodType>>;
  /**
   * Which of them names the first object that it writes. Where a status has to be made smaller, it goes if `created` says
   * the same.
   */
  readonly reference?: string;
  /** Field of an output, both by name, that a status goes without before all else where it has to be made smaller. */
  readonly bulk?: readonly [output: string, field: string];
  /** Most bytes that its outputs take in a status. Default: 700. */
  readonly outputBytes?: number;
  /** Fields of the block that name an object or a namespace: they are looked at again once parameters are filled in. */
  readonly names?: Readonly<Record<string, 'label' | 'subdomain'>>;
  /** Field of the block that holds manifests, whose names are looked at likewise. */
  readonly manifest?: string;

  /** What is wrong with a block. Placeholders, references and operations are checked for every type. */
  check(block: Block, step: StepFields, path: string): Problem[];
  /** What is advised once all is checked, such as a field that is better written. Default: nothing. */
  advise?(block: Block, step: StepFields, path: string): Problem[];
  /** Whether it changes nothing, so that there is nothing to undo. Default: it changes something. */
  changesNothing?(block: Block): boolean;
  /** Whether its failure is passed over. Default: never. */
  isOptional?(block: Block): boolean;
  /** How workflow code carries it out. Undefined, and the default: an activity does. */
  step?(block: Block, step: StepFields, params: Record<string, Scalar>): StepInput | undefined;
  /** What is wrong with a block once the parameters of a run are known. Default: nothing. */
  checkFilledIn?(block: Block, params: Record<string, Scalar>, path: string): Problem[];
  /** What policies refuse, as far as it is written down. Default: nothing. */
  refusals?(block: Block, policy: Policy, planNamespace: string): RefusedPlace[];
  /** Objects that it writes, to be held against the definitions of their kinds. Default: none. */
  objects?(block: Block, path: string): WrittenObject[];
  /** Whether it holds a secret, so that it stays out of Temporal's history. Default: names of parameters decide. */
  carriesSecret?(block: Block): boolean;
  /** What `drover describe` says of it, besides name, type and operation. Default: nothing. */
  summary?(block: Block): string;
}
