// Runs one query of the Claude Agent SDK and prints every message as a line of JSON.
//   AGENT_SERVERS: mcpServers as JSON; AGENT_INTERRUPT_MS: interrupt so long after the first call
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const clients = createRequire(pathToFileURL(process.env.BERTH_CLIENTS + '/package.json'));
const { query } = await import(pathToFileURL(clients.resolve('@anthropic-ai/claude-agent-sdk')));
const interruptAfter = Number(process.env.AGENT_INTERRUPT_MS || 0);
const print = (value) => process.stdout.write(JSON.stringify(value) + '\n');

async function* streamed() {
  yield { type: 'user', message: { role: 'user', content: 'go' }, parent_tool_use_id: null, session_id: '' };
  await new Promise((resolve) => setTimeout(resolve, interruptAfter + 8000).unref());
}

const run = query({
  prompt: interruptAfter ? streamed() : 'go',
  options: {
    mcpServers: JSON.parse(process.env.AGENT_SERVERS),
    strictMcpConfig: true,
    settingSources: [],
    tools: [],
    allowedTools: ['mcp__berth'],
    disallowedTools: ['Bash', 'Read', 'Write', 'Edit', 'Glob', 'Grep',
      'NotebookEdit', 'Monitor', 'EnterWorktree', 'ExitWorktree'],
    model: 'claude-sonnet-5',
    maxTurns: 40,
    env: { ...process.env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1' },
    ...JSON.parse(process.env.AGENT_OPTIONS || '{}'),
  },
});
let interrupting = false;
for await (const message of run) {
  print(message);
  if (message.type === 'system' && message.subtype === 'init') {
    print({ type: 'status', servers: await run.mcpServerStatus() });
  }
  if (interruptAfter && !interrupting && message.type === 'assistant') {
    interrupting = true;
    setTimeout(() => run.interrupt().then(() => print({ type: 'interrupted' })), interruptAfter);
  }
  if (message.type === 'result') break;
}
process.exit(0);
