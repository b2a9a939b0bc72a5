import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const IMPERSONATION = 'test/authority/impersonation.test.ts';
const POLICY = 'test/authority/policy.test.ts';
const VERBS = 'test/authority/verbs.test.ts';

/** The security tests, by the numbers they are known under. */
export const SECURITY: readonly Chapter[] = [
  chapter('SEC', 'Security tests', [
    [
      'an empty, blank or odd user, group or account fails closed and never acts with the controller’s rights',
      [
        `${VERBS} > a plan > is refused with an account called %j`,
        'crd-bridge/execution/account.test.ts > is nobody for the name %j, whatever the installation allows',
        'activities/identity.test.ts > is never the controller because an account is called %j',
        'activities/identity.test.ts > is nobody in the namespace %j',
        `${IMPERSONATION} > nothing is done for an account called %j, even where the controller may act itself`,
        `${IMPERSONATION} > nothing is done when impersonation is lost on the way`,
        'crd-bridge/webhook/authority.test.ts > lets nobody called %j do anything, whatever their groups',
      ],
    ],
    [
      'another namespace, account, cluster or Secret is denied at admission and at run time',
      [
        `${VERBS} > a plan > is executed and reverted by those who have the verb and may use its account`,
        `${VERBS} > a plan > acts only as an account that its author may use`,
        `${VERBS} > a run whose account was swapped after its admission does not start`,
        `${VERBS} > a plan that runs another > is run through by those only who may run both, by their groups too`,
        `${VERBS} > a plan that runs another > whose account the requester may not use is not run for them`,
        `${POLICY} > a policy > limits kinds, operations and namespaces, makes plans Invalid that were not, and lets them be again`,
        `${POLICY} > a policy > limits hosts, accounts and clusters, also those that are known only in a run`,
        `${IMPERSONATION} > an account without rights may do nothing`,
        `${IMPERSONATION} > Secrets that an action names are read as the account`,
      ],
    ],
    [
      'a plan or workflow that is edited between approval and run does not change the run',
      [`${VERBS} > a run > runs what it was approved for, whatever becomes of plan and workflow meanwhile`],
    ],
    [
      'no field of an execution overrides what its plan fixes',
      [
        `${FILES.RUNS} > an execution > cannot change what its plan fixes: other fields are not kept, and a strict client is refused`,
      ],
    ],
    [
      'HTTP reaches no loopback, link-local, metadata or control-plane address, however it is written or resolved',
      [
        'activities/egress.test.ts > addresses that are never reached by default > refuses %s',
        'activities/egress.test.ts > connections > refuses a name that resolves to a good and a bad address',
        'activities/egress.test.ts > connections > resolves once, so that a second answer has no say',
        'activities/http.test.ts > redirects > does not follow to an address that is not allowed',
        'activities/http.test.ts > requests > ignores proxies named by the environment',
      ],
    ],
    [
      'a header from a Secret goes to no other host after a redirect',
      ['activities/http.test.ts > redirects > sends secret headers to no other origin'],
    ],
    [
      'large, slow, compressed and broken answers are bounded',
      [
        'activities/http.test.ts > answers > reads no more than it keeps use for',
        'activities/http.test.ts > answers > survives bytes that are no text and shows no compressed ones',
        'activities/http.test.ts > answers > refuses a header bomb for good',
      ],
    ],
    [
      'parameters of any content land as data',
      ['api/render.property.test.ts > a value of any content lands as data > in a manifest'],
    ],
    [
      'a secret appears in nothing that is reported',
      [
        'activities/http.test.ts > secrets > appear in nothing that is reported',
        'test/security/canary.test.ts > a value from a Secret > stands in no resource but the Secrets themselves',
        'test/security/canary.test.ts > a value from a Secret > stands in no log and no metric',
        'test/security/canary.test.ts > a value from a Secret > stands in no history',
        'test/security/encryption.test.ts > an installation that encrypts > leaves nothing readable in the histories but types, search attributes and times',
      ],
    ],
    [
      'no RBAC, webhooks, definitions, tokens or privileged pods unless a policy says so',
      [
        `${POLICY} > without a policy > a plan with an escalation is refused, each with its class`,
        `${POLICY} > without a policy > what placeholders make of an action is refused when it runs, and nothing is done`,
        `${POLICY} > a policy > allows an escalation by its class`,
        'api/escalation.test.ts > an escalation > %s: %j',
      ],
    ],
    [
      'long names, cycles, depth and costly expressions are refused cheaply',
      [
        'test/admission/size.test.ts > 200 stages are let in, and one more action than a run may have is not',
        'test/contract/strange.test.ts > a manifest with %s is refused',
        'test/contract/strange.test.ts > a name of 10,000 characters of %s is refused',
      ],
    ],
    [
      'two replicas, late caches and repeated signals have one effect',
      [
        'crd-bridge/execution/replicas.test.ts > a start that was interrupted after it took the plan > is not begun a second time in another Temporal, where nobody can know of the first',
        'crd-bridge/execution/replicas.test.ts > a refusal by a replica whose caches are late > neither ends nor cancels one that runs',
      ],
    ],
    [
      'forged approvals, stamps and status patches are ignored',
      [
        `${VERBS} > a run > is approved by those who may approve, and forged answers, stamps and states count for nothing`,
        'test/admission/stamp.test.ts > are stamped, whatever is claimed at create, in a patch or in a replace',
        'test/authority/unadmitted.test.ts > neither a forged record of an approval nor a plain yes counts, and a Warning Event says so',
        'test/authority/unadmitted.test.ts > a forged requester is passed on to nobody: the plan that is run as a part of the run carries no stamp of it',
      ],
    ],
    [
      'supply chain: pinned packages, bill of materials, pods without privilege',
      [
        'test/security/supply-chain.test.ts > packages > are pinned by version and digest, all of them',
        'test/security/supply-chain.test.ts > packages > stand in the bill of materials',
        'test/security/supply-chain.test.ts > workflows > use every action by the digest of a commit: a tag can be moved',
        'test/security/supply-chain.test.ts > pods > of the %s pass the restricted pod security standard',
      ],
      'audit, provenance and attestations are steps of the release, which runs elsewhere',
    ],
  ]),
];
