/** How this program was called, and so how the commands it suggests begin. */
export function programName(environment: { env: NodeJS.ProcessEnv; asKubectlPlugin: boolean }): string {
  if (environment.asKubectlPlugin) return 'kubectl dr';
  return environment.env['npm_command'] === 'exec' ? 'npx drover' : 'drover';
}
