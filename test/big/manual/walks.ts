/** How each block of commands on the pages is run. `scripts/manual/blocks.test.ts` holds this against the pages. */
import type { Step, Walk } from '../../../scripts/manual/blocks.js';

const CHART_TEST = 'test/big/chart/installation.test.ts';
const byChart = (begins: string): Step => ({ begins, by: CHART_TEST });

/** A plan of one action that waits, in namespace `shop`. */
const waiting = (action: string, name = 'waiting'): string => `kubectl apply -f - <<'END'
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRWorkflow
metadata: { name: ${name}, namespace: shop }
spec: { actions: [{ name: wait, ${action} }] }
---
apiVersion: dr.bkbcs.tencent.com/v1alpha1
kind: DRPlan
metadata: { name: ${name}, namespace: shop }
spec: { stages: [{ name: only, workflows: [{ workflowRef: { name: ${name} } }] }] }
END
kubectl -n shop wait --for=condition=Ready drplan/${name} --timeout 60s
`;
const HOUR = 'type: Wait, wait: { duration: 1h }';
/** It is still there after a first request to cancel. */
const STUBBORN = `${HOUR}, interruptible: false`;
const QUESTION =
  "type: Approval, approval: { message: 'Go?', excludeRequester: false, approvers: { groups: ['system:masters'] } }";
const whenItRuns = (name: string): string =>
  `until kubectl -n shop get drpx ${name} -o jsonpath='{.status.phase}' | grep -q Running; do sleep 0.2; done\n`;

const SHOP = 'examples/switchover/00-setup.yaml -f examples/switchover/10-workflows.yaml';
/** The web shop with its traffic manager, so that it can be moved. */
const MOVABLE_SHOP = `drover up
node dist/examples/traffic-manager/server.js &
kubectl apply -f ${SHOP} -f examples/switchover/20-plan.yaml
kubectl -n shop wait --for=condition=Ready drplan/shop-switchover --timeout 60s
`;
const PLANS = `mkdir plans
cp examples/switchover/10-workflows.yaml examples/switchover/20-plan.yaml plans
cp examples/minimal/plan.yaml plan.yaml
`;

const firstHour = (page: string): Walk => ({
  page,
  files: { 'shop.yaml': 0, 'plan.yaml': 1 },
  steps: [
    { begins: 'npm ci', ownCluster: true },
    {
      begins: 'npx drover up --use-current-cluster',
      ownCluster: true,
      shows: [/drplans\.dr\.bkbcs/, /up after/],
    },
    { begins: 'kubectl apply -f shop.yaml', ownCluster: true, shows: [/web-a +2\/2/, /web-b +0\/0/] },
    { begins: 'npx drover validate plan.yaml', ownCluster: true },
    {
      begins: 'npx drover run move-web',
      ownCluster: true,
      shows: [/web-a +\d\/0/, /web-b +2\/2/, /site: b/, /Succeeded/],
    },
    { begins: 'npx drover revert first-move', ownCluster: true, shows: [/web-a +\d\/2/, /web-b +\d\/0/] },
    { begins: 'kubectl delete namespace first-hour', ownCluster: true },
  ],
});

const example = (name: string, ...steps: Step[]): Walk => ({ page: `examples/${name}/README.md`, steps });
const UP: Step = { begins: 'npx drover up' };

export const WALKS: readonly Walk[] = [
  {
    page: 'README.md',
    files: { 'my-plan.yaml': 0 },
    steps: [
      { begins: 'npm ci && npm run demo', shows: [/Demo succeeded/] },
      {
        begins: 'npx drover up',
        with: { 'hello-x7k2p': '$(kubectl get drpx -o jsonpath="{.items[0].metadata.name}")' },
        shows: [/Succeeded/],
      },
      { begins: 'npx drover up --use-current-cluster', ownCluster: true },
      { begins: 'kubectl apply -f deploy/crds', before: 'kubectl create namespace shop', ownCluster: true },
      {
        begins: 'WORKFLOW_ID=',
        before: `drover down\ndrover up\n${waiting(STUBBORN)}drover run waiting -n shop --name move\n${whenItRuns('move')}`,
        with: { 'NAME -n NAMESPACE': 'move -n shop' },
        shows: [/Signal workflow succeeded/i],
      },
    ],
  },
  {
    page: 'docs/actions.md',
    steps: [
      {
        begins: 'drover approve EXECUTION',
        before: `drover up
${['first', 'second'].map((name) => `${waiting(QUESTION, name)}drover run ${name} -n shop --name ${name}\n`).join('')}
for name in first second; do
  until drover describe execution/$name -n shop | grep -q 'Go?'; do sleep 0.2; done
done
`,
        with: {
          'drover approve EXECUTION': 'drover approve first -n shop',
          'annotate drpx EXECUTION': 'annotate -n shop drpx second',
        },
      },
    ],
  },
  {
    page: 'docs/admission.md',
    steps: [
      {
        begins: 'kubectl label namespace NAME',
        before: 'drover up\nkubectl create namespace shop',
        with: { NAME: 'shop' },
      },
      { begins: 'kubectl apply -f deploy/webhook/rbac.yaml' },
      { begins: 'kubectl delete validatingwebhookconfiguration' },
    ],
  },
  {
    page: 'docs/cli.md',
    steps: [
      {
        begins: 'drover run shop-switchover',
        before: MOVABLE_SHOP,
        with: {
          'drover cancel drill': `until kubectl -n shop get drpx drill -o jsonpath='{.status.stageStatuses[0].workflowExecutions[0].actionStatuses[0].phase}' | grep -q Succeeded; do sleep 0.2; done
drover cancel drill`,
          'drover watch drill -n shop                  # ends with 2: it was cancelled':
            'drover watch drill -n shop || test $? -eq 2',
        },
        shows: [/Cancelled/],
      },
      { begins: 'drover validate plans/', before: PLANS },
      { begins: 'drover preflight shop-switchover' },
    ],
  },
  {
    page: 'docs/clusternet.md',
    steps: [{ begins: 'drover check clusternet', before: 'drover up', with: { '--context parent ': '' } }],
  },
  {
    page: 'docs/encryption.md',
    steps: [{ begins: 'kubectl create secret generic drover-encryption', before: 'drover up' }],
  },
  firstHour('docs/first-hour.md'),
  {
    page: 'docs/install.md',
    files: { 'drover-values.yaml': 0 },
    steps: [
      byChart('helm install drover'),
      byChart('helm upgrade --install'),
      byChart('drover backup drover.tar'),
      {
        begins: 'kubectl -n drover-system create secret generic temporal-ca',
        before: `openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=client -keyout client.key -out client.crt
cp client.crt ca.crt
`,
        ownCluster: true,
      },
      { begins: 'kubectl apply --server-side -f deploy/crds', ownCluster: true },
      {
        begins: 'helm install drover deploy/chart',
        before: 'kubectl create namespace shop',
        // What the base has set is not what the values say.
        with: { '--take-ownership': '--take-ownership --force-conflicts' },
        ownCluster: true,
      },
      byChart('helm upgrade drover'),
      byChart('kubectl apply --server-side --force-conflicts'),
      byChart('helm upgrade drover'),
      byChart('helm rollback'),
      byChart('kubectl get drplanexecutions'),
    ],
  },
  {
    page: 'docs/migrating.md',
    steps: [
      {
        begins: 'drover import --cluster',
        before: `${PLANS}kubectl apply -f deploy/crds -f examples/switchover/00-setup.yaml
kubectl wait --for=condition=Established crd/drplans.dr.bkbcs.tencent.com crd/drworkflows.dr.bkbcs.tencent.com
kubectl apply -f plans
`,
        ownCluster: true,
      },
      { begins: 'kubectl get drplanexecutions -A', ownCluster: true },
      {
        begins: 'kubectl -n NAMESPACE scale',
        before: `kubectl -n shop create deployment drplan-controller --image drplan-controller
for kind in Validating Mutating; do
  printf 'apiVersion: admissionregistration.k8s.io/v1\\nkind: %sWebhookConfiguration\\nmetadata: { name: drplan }\\n' $kind | kubectl apply -f -
done
`,
        with: { NAMESPACE: 'shop', CONTROLLER: 'drplan-controller', NAME: 'drplan' },
        ownCluster: true,
      },
      {
        begins: 'kubectl apply -f deploy/crds',
        with: {
          'git diff --no-index plans converted                       # read it':
            'git diff --no-index plans converted || test $? -eq 1',
        },
        ownCluster: true,
      },
      {
        begins: 'drover get -A',
        before: 'drover up --use-current-cluster',
        with: { PLAN: 'shop-switchover -n shop' },
        ownCluster: true,
      },
    ],
  },
  {
    page: 'docs/modes.md',
    steps: [
      {
        begins: 'drover run shop --mode Upgrade',
        before: `drover up
kubectl apply -f examples/modes/plan.yaml
kubectl create -f examples/modes/install.yaml
drover watch shop-install -n shop-modes
`,
        with: { 'run shop ': 'run shop-lifecycle -n shop-modes ' },
        shows: [/Succeeded/],
      },
    ],
  },
  {
    page: 'docs/observability.md',
    steps: [
      {
        begins: 'kubectl create serviceaccount',
        before: 'drover up\nkubectl apply -f deploy/rbac/profiles.yaml',
      },
    ],
  },
  {
    page: 'docs/operating.md',
    steps: [
      { begins: 'kubectl apply -f deploy/crds', ownCluster: true },
      {
        begins: 'kubectl -n drover-system patch secret drover-seal',
        before:
          'kubectl -n drover-system create secret generic drover-seal --from-literal=20261129T101500Z="$(openssl rand -base64 32)"',
        ownCluster: true,
      },
      { begins: 'kubectl get drpx -A', ownCluster: true },
      { begins: 'kubectl -n drover-system patch secret drover-seal --type json', ownCluster: true },
      {
        begins: 'drover uninstall',
        with: { 'drover uninstall': 'drover uninstall --use-current-cluster' },
        ownCluster: true,
      },
    ],
  },
  {
    page: 'docs/upgrading.md',
    steps: [
      {
        begins: 'drover cancel switchover-x7k2p',
        before: `drover up\n${waiting(HOUR)}drover run waiting -n shop --name switchover-x7k2p\n${whenItRuns('switchover-x7k2p')}`,
      },
    ],
  },
  {
    page: 'docs/zh/README.md',
    steps: [
      { begins: 'npm ci && npm run demo', shows: [/Demo succeeded/] },
      { begins: 'npx drover import', before: 'kubectl apply -f deploy/crds', ownCluster: true },
    ],
  },
  firstHour('docs/zh/first-hour.md'),
  example(
    'failing',
    { ...UP, shows: [/Failed/] },
    { begins: 'kubectl create -f examples/failing/revert.yaml' },
  ),
  example('minimal', { ...UP, shows: [/by: hello/] }),
  example('modes', UP),
  example('nested', { ...UP, shows: [/switch-database/] }),
  example('parallel', UP),
  example(
    'switchover',
    {
      ...UP,
      with: {
        'kubectl get drpx -n shop -w':
          'kubectl get drpx -n shop\nnpx drover watch shop-switchover-1 -n shop || { npx drover describe shop-switchover-1 -n shop; exit 1; }',
      },
    },
    { begins: 'kubectl create -f examples/switchover/40-revert.yaml' },
  ),
];
