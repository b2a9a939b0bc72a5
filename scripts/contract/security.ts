import { FILES } from './files.js';
import { chapter } from './rule.js';
import type { Chapter } from './rule.js';

const IMPERSONATION = 'test/authority/impersonation.test.ts';
const POLICY = 'test/authority/policy.test.ts';
const FORGED = 'test/field/forged-runs.test.ts';
const PRIOR = 'test/field/prior-state.test.ts';
const VERBS = 'test/authority/verbs.test.ts';

/** The security tests, by the numbers they are known under. */
export const SECURITY: readonly Chapter[] = [
  chapter('SEC', 'Security tests', [
    [
      'an empty, blank or odd user, group or account fails closed and never acts with the controller’s rights',
      [
        `${VERBS} > a plan > is refused with an account called %j [SEC1]`,
        'crd-bridge/plan/start/account.test.ts > is nobody for the name %j, whatever the installation allows [SEC1]',
        'activities/core/identity.test.ts > is never the controller because an account is called %j [SEC1]',
        'activities/core/identity.test.ts > is nobody in the namespace %j [SEC1]',
        `${IMPERSONATION} > nothing is done for an account called %j, even where the controller may act itself [SEC1]`,
        `${IMPERSONATION} > nothing is done when impersonation is lost on the way [SEC1]`,
        'crd-bridge/plan/review/authority.test.ts > lets nobody called %j do anything, whatever their groups [SEC1]',
      ],
    ],
    [
      'another namespace, account, cluster or Secret is denied at admission and at run time',
      [
        `${VERBS} > a plan > is executed and reverted by those who have the verb and may use its account [SEC2]`,
        `${VERBS} > a plan > acts only as an account that its author may use [SEC2]`,
        `${VERBS} > a run whose account was swapped after its admission does not start [SEC2]`,
        `${VERBS} > a plan that runs another > is run through by those only who may run both, by their groups too [SEC2]`,
        `${VERBS} > a plan that runs another > whose account the requester may not use is not run for them [SEC2]`,
        `${POLICY} > a policy > limits kinds, operations and namespaces, makes plans Invalid that were not, and lets them be again [SEC2]`,
        `${POLICY} > a policy > limits hosts, accounts and clusters, also those that are known only in a run [SEC2]`,
        `${IMPERSONATION} > an account without rights may do nothing [SEC2]`,
        `${IMPERSONATION} > Secrets that an action names are read as the account [SEC2]`,
      ],
    ],
    [
      'a plan or workflow that is edited between approval and run does not change the run',
      [
        `${VERBS} > a run > runs what it was approved for, whatever becomes of plan and workflow meanwhile [SEC3]`,
        'activities/core/snapshots.test.ts > snapshots > that one %s is said for a person [SEC3]',
      ],
    ],
    [
      'no field of an execution overrides what its plan fixes',
      [
        `${FILES.RUNS} > an execution > cannot change what its plan fixes: other fields are not kept, and a strict client is refused [SEC4]`,
        `${FILES.RUNS} > an execution > keeps no field but its own, whatever plans, workflows and actions have [SEC4]`,
      ],
    ],
    [
      'HTTP reaches no loopback, link-local, metadata or control-plane address, however it is written or resolved',
      [
        'activities/core/egress.test.ts > addresses that are never reached by default > refuses %s [SEC5]',
        'activities/core/egress.test.ts > connections > refuses a name that resolves to loopback [SEC5]',
        'activities/core/egress.test.ts > connections > refuses a name that resolves to a good and a bad address [SEC5]',
        'activities/core/egress.test.ts > connections > resolves once, so that a second answer has no say [SEC5]',
        "activities/core/egress.test.ts > connections > refuses the cluster's own API under any loopback address, even where loopback is allowed [SEC5]",
        "activities/core/egress.test.ts > connections > refuses the cluster's own API when its URL holds a name [SEC5]",
        'activities/actions/http/http.test.ts > redirects > does not follow to an address that is not allowed [SEC5]',
        'activities/actions/http/http.test.ts > redirects > does not follow from an encrypted connection to one that is not [SEC5]',
        'activities/actions/http/http.test.ts > requests > ignores proxies named by the environment [SEC5]',
      ],
    ],
    [
      'a header from a Secret goes to no other host after a redirect',
      [
        'activities/actions/http/http.test.ts > redirects > takes no body, header or secret to another origin [F15] [SEC6]',
        'activities/actions/http/http.test.ts > secrets > go to no host but those that the Secret allows: %j [SEC6]',
      ],
    ],
    [
      'large, slow, compressed and broken answers are bounded',
      [
        'activities/actions/http/http.test.ts > answers > reads no more than it keeps use for [SEC7]',
        'activities/actions/http/http.test.ts > answers > survives bytes that are no text and shows none that cannot be decompressed [SEC7]',
        'activities/actions/http/http.test.ts > answers > unfold no further than 1 MiB, however much there would be [F15] [SEC7]',
        'activities/actions/http/http.test.ts > answers > is given up with the attempt when it drips for ever [SEC7]',
        'activities/actions/http/http.test.ts > answers > counts only from a server whose certificate is good, unless an action says otherwise [SEC7]',
        'activities/actions/http/http.test.ts > answers > refuses a header bomb for good [SEC7]',
      ],
    ],
    [
      'parameters of any content land as data',
      [
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a manifest [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a JSON body [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a YAML body [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in path and query of a URL [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a form [SEC8]',
        'api/plan/template/render.property.test.ts > a value of any content lands as data > in a structured template [SEC8]',
      ],
    ],
    [
      'a secret appears in nothing that is reported',
      [
        'activities/actions/http/http.test.ts > secrets > appear in nothing that is reported [SEC9]',
        'activities/core/redact.test.ts > a secret is not shown %s [SEC9]',
        'activities/core/redact.test.ts > a secret is not shown in base64 after %j [SEC9]',
        'test/security/canary.test.ts > a value from a Secret > stands in no resource but the Secrets themselves [SEC9]',
        'test/security/canary.test.ts > a value from a Secret > stands in no log and no metric [SEC9]',
        'test/security/canary.test.ts > a value from a Secret > stands in no history [SEC9]',
        'test/security/canary.test.ts > a value from a Secret > stands in nothing that Temporal lists of a run, and in no report of the command line [SEC9]',
        'test/security/encryption.test.ts > an installation that encrypts > leaves nothing readable in the histories but types, search attributes and times [SEC9]',
      ],
    ],
    [
      'no RBAC, webhooks, definitions, tokens or privileged pods unless a policy says so',
      [
        `${POLICY} > without a policy > a plan with an escalation is refused, each with its class [SEC10]`,
        `${POLICY} > without a policy > what placeholders make of an action is refused when it runs, and nothing is done [SEC10]`,
        `${POLICY} > a policy > allows an escalation by its class [SEC10]`,
        'api/plan/escalation.test.ts > an escalation > %s: %j [SEC10]',
      ],
    ],
    [
      'long names, cycles, depth and costly expressions are refused cheaply',
      [
        'test/admission/size.test.ts > 200 stages are let in, and one more action than a run may have is not [SEC11]',
        'test/contract/strange.test.ts > a manifest with %s is refused [SEC11]',
        'test/contract/strange.test.ts > a name of 10,000 characters of %s is refused [SEC11]',
        'test/contract/strange.test.ts > a body of a hundred thousand brackets, and one that is no JSON, bring nothing down [SEC11]',
        'test/contract/strange.test.ts > the bridge has lived through all of it [SEC11]',
        'api/plan/when/when.test.ts > evaluateWhen > a regular expression that backtracks without end is stopped [SEC11]',
        'api/plan/when/when.test.ts > checkWhen > refuses %s [SEC11]',
      ],
    ],
    [
      'two replicas, late caches and repeated signals have one effect',
      [
        'crd-bridge/plan/replicas.test.ts > a start that was interrupted after it took the plan > is not begun a second time in another Temporal, where nobody can know of the first [SEC12]',
        'crd-bridge/plan/replicas.test.ts > a refusal by a replica whose caches are late > neither ends nor cancels one that runs [SEC12]',
        `${FILES.BRIDGE} > the plan of an execution > goes to one of several executions created at once; the others name the holder [SEC12]`,
        'crd-bridge/plan/review/stamp.test.ts > says the same when a review comes again [SEC12]',
        `${FILES.ATTEMPT} > interruptions > gives up before the effect when the process stood still for longer than the server waits [SEC12]`,
        `${FILES.ATTEMPT} > counting > a refusal keeps the round of an attempt that was %s [SEC12]`,
      ],
    ],
    [
      'forged approvals, stamps and status patches are ignored',
      [
        `${VERBS} > a run > is approved by those who may approve, and forged answers, stamps and states count for nothing [SEC13]`,
        'test/admission/stamp.test.ts > are stamped, whatever is claimed at create, in a patch or in a replace [SEC13]',
        'test/authority/unadmitted.test.ts > neither a forged record of an approval nor a plain yes counts, and a Warning Event says so [SEC13]',
        'test/authority/unadmitted.test.ts > a forged requester is passed on to nobody: the plan that is run as a part of the run carries no stamp of it [SEC13]',
      ],
    ],
    [
      'supply chain: pinned packages, bill of materials, pods without privilege',
      [
        'test/security/supply-chain.test.ts > packages > are pinned by version and digest, all of them [SEC14]',
        'test/security/supply-chain.test.ts > packages > stand in the bill of materials [SEC14]',
        'test/security/supply-chain.test.ts > workflows > use every action by the digest of a commit: a tag can be moved [SEC14]',
        'test/security/supply-chain.test.ts > workflows > may read and nothing more, but for the steps of a release and the report of a scan [SEC14]',
        'test/security/supply-chain.test.ts > workflows > let nothing in and nothing out with a known hole [SEC14]',
        'test/security/supply-chain.test.ts > workflows > release an image with its bill of materials and where it comes from, signed without a key [SEC14]',
        'test/security/supply-chain.test.ts > the image > is built on a digest, with the lockfile, and runs as nobody in particular [SEC14]',
        'test/security/supply-chain.test.ts > pods > of the %s pass the restricted pod security standard [SEC14]',
        'test/security/supply-chain.test.ts > pods > reach nothing and are reached by nothing that no policy names [SEC14]',
      ],
      'that the steps of audit, signature and attestation are there is shown; what they come to is seen in a release only',
    ],
    [
      'whoever reaches only Temporal starts nothing: forged or late runs, stages, activities and answers have no effect',
      [
        `${FORGED} > [F17] [SEC15] a run > that nobody created does nothing, says so, and waits until it is cancelled`,
        `${FORGED} > [F17] [SEC15] a run > with %s does nothing`,
        `${FORGED} > [F17] [SEC15] a run > with another body does nothing`,
        `${FORGED} > [F17] [SEC15] a run > under another id does nothing`,
        `${FORGED} > [F17] [SEC15] a run > that is repeated after its start deadline does nothing`,
        `${FORGED} > [F17] [SEC15] a stage > without its run as parent ends at once`,
        `${FORGED} > [F17] [SEC15] a stage > with another run as parent ends at once, and one with other actions does nothing`,
        `${FORGED} > [F17] [SEC15] an activity > of a workflow that is not of its run does nothing, nor one of no workflow at all`,
        `${FORGED} > [F17] [SEC15] an activity > of a true run that was changed in any part does nothing`,
        `${FORGED} > [F17] [SEC15] an activity > of the bridge does nothing for whom it does not vouch for`,
        `${FORGED} > [F17] [SEC15] an approval > by a signal does not count, and the status says so`,
      ],
    ],
    [
      'what a revert restores is what a worker has recorded, not what somebody has put into a Secret',
      [
        `${PRIOR} > [F19] [SEC16] a planted Secret > of the name that an earlier release would have given it is not what a revert restores`,
        `${PRIOR} > [F19] [SEC16] what is kept > is for one action of one run`,
        `${PRIOR} > [F19] [SEC16] what is kept > is not what somebody else has put there first`,
        `${PRIOR} > [F19] [SEC16] what is kept > is not what it was changed to`,
        `${PRIOR} > [F19] [SEC16] what is kept > of the state after an action is not what it was changed to`,
      ],
    ],
    [
      'no action reaches Temporal, its Web UI, a codec endpoint or Drover’s own ports, in any spelling, whatever is allowed',
      [
        "test/field/own-endpoints.test.ts > Drover's own endpoints > are reached by no action, in whatever way it writes them, redirects and mail included [SEC17] [F18]",
      ],
    ],
  ]),
];
