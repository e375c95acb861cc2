// What a program does that uses the SDK of MCP for TypeScript, against a server: each step in turn, and
// what came of it as one JSON object.
//   SDK: "1" (@modelcontextprotocol/sdk) or "2" (@modelcontextprotocol/client)
//   SDK_MODE: of the second, how it finds out what is spoken: "legacy", "auto" or "2026-07-28"
//   SDK_SERVER: {"command", "args", "env"} or {"url", "headers"} as JSON
//   SDK_STEPS: "all", or "again": what is still there
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.env.BERTH_CLIENTS + '/package.json'));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const first = process.env.SDK === '1';
const mode = process.env.SDK_MODE;
const server = JSON.parse(process.env.SDK_SERVER);
const told = {};

async function sdk() {
  const info = { name: 'berth-sdk-test', version: '1' };
  if (first) {
    const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, types] = await Promise.all([
      load('@modelcontextprotocol/sdk/client/index.js'), load('@modelcontextprotocol/sdk/client/stdio.js'),
      load('@modelcontextprotocol/sdk/client/streamableHttp.js'), load('@modelcontextprotocol/sdk/types.js')]);
    return { make: () => new Client(info), StdioClientTransport, StreamableHTTPClientTransport,
      call: (client, params, options) => client.callTool(params, undefined, options),
      onMessage: (client, take) =>
        client.setNotificationHandler(types.LoggingMessageNotificationSchema, (each) => take(each.params)) };
  }
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
    load('@modelcontextprotocol/client'), load('@modelcontextprotocol/client/stdio')]);
  const negotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
  return { make: () => new Client(info, { versionNegotiation: negotiation }), StdioClientTransport,
    StreamableHTTPClientTransport, call: (client, params, options) => client.callTool(params, options),
    onMessage: (client, take) => client.setNotificationHandler('notifications/message', (each) => take(each.params)) };
}

const parts = await sdk();

async function connect() {
  const client = parts.make();
  const transport = server.url
    ? new parts.StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } })
    : new parts.StdioClientTransport({ ...server, stderr: 'inherit' });
  await client.connect(transport);
  return { client, transport };
}

const bash = (client, command, options, more = {}) =>
  parts.call(client, { name: 'bash_exec', arguments: { command }, ...more }, options);
const isModern = () => told.version === '2026-07-28';
const text = (result) => result.content[0].text;
const failure = (promise) => promise.then(() => null, (error) => ({ code: error.code, name: error.name,
  message: String(error.message), status: error.status ?? error.data?.status ?? null }));

/** All pages of a list, by their cursors. */
async function pages(list, name) {
  const all = [];
  let count = 0;
  for (let cursor; ;) {
    const page = await list(cursor === undefined ? {} : { cursor });
    all.push(...page[name]);
    count += 1;
    cursor = page.nextCursor;
    if (cursor === undefined) return { count, all };
  }
}

async function lists(client) {
  told.tools = (await pages((from) => client.listTools(from), 'tools')).all.map((each) => each.name);
  told.prompts = (await pages((from) => client.listPrompts(from), 'prompts')).all.map((each) => each.name);
  told.templates = (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate);
  told.prompt = (await client.getPrompt({ name: 'sandbox-guide' })).messages[0].content.text;
  await bash(client, 'mkdir -p ~/many && cd ~/many && touch $(seq -f f%03g 250) && echo kept >f007');
  await parts.call(client, { name: 'save_to_workspace', arguments: { sandbox_path: '~/many' } });
  const resources = await pages((from) => client.listResources(from), 'resources');
  told.resources = { pages: resources.count, uris: resources.all.map((each) => each.uri) };
  const uri = told.resources.uris.find((each) => each.endsWith('f007'));
  told.read = (await client.readResource({ uri })).contents[0].text;
  told.unread = await failure(client.readResource({ uri: 'workspace:///nowhere' }));
  told.completion = (await client.complete({ ref: { type: 'ref/resource', uri: told.templates[0] },
    argument: { name: 'path', value: 'many/f00' } })).completion.values;
}

async function calls(client) {
  told.hello = text(await bash(client, 'echo hello'));
  const missing = await parts.call(client, { name: 'read_file', arguments: { path: '/nowhere' } });
  told.missing = { isError: missing.isError, text: text(missing) };
  told.unknown = await failure(parts.call(client, { name: 'no_such_tool', arguments: {} }));
  told.parallel = (await Promise.all([...Array(20).keys()].map((number) =>
    bash(client, `echo number ${number}`)))).map((each) => text(each).split('\n')[0]);
}

/** Three seconds of work, for a client that waits for 1.5. */
async function progress(client) {
  const command = 'for n in 1 2 3 4 5 6; do echo tick $n; sleep 0.5; done';
  told.beats = [];
  told.patient = text(await bash(client, command, { timeout: 1500, resetTimeoutOnProgress: true,
    onprogress: (beat) => told.beats.push(beat) }));
  told.impatient = await failure(bash(client, command, { timeout: 1500 }));
}

async function cancel(client) {
  const control = new AbortController();
  const began = Date.now();
  setTimeout(() => control.abort(new Error('enough')), 700);
  told.aborted = await failure(bash(client, 'echo $$ >~/pid; exec sleep 300', { signal: control.signal }));
  told.abortedAfter = Date.now() - began;
  for (let i = 0; i < 40 && !told.gone; ++i) {
    told.gone = text(await bash(client, 'test -s ~/pid && ! kill -0 $(cat ~/pid) 2>/dev/null && echo gone || true'))
      .includes('gone');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Asked for once, or in 2026-07-28 with each request. */
async function logging(client) {
  const messages = [];
  parts.onMessage(client, (each) => messages.push([each.level, each.logger, each.data]));
  const wish = { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } };
  if (!isModern()) await client.setLoggingLevel('debug');
  await bash(client, 'true', undefined, isModern() ? wish : {});
  await parts.call(client, { name: 'read_file', arguments: { path: '/nowhere' }, ...(isModern() ? wish : {}) });
  told.messages = [...messages];
}

/** Another connection finds what the last one left; over HTTP one can be ended by its client. */
async function again(client, transport) {
  await bash(client, 'echo mark >~/mark');
  told.sessionId = transport.sessionId ?? null;
  if (told.sessionId) {
    const { client: other, transport: another } = await connect();
    told.otherSessionId = another.sessionId;
    await another.terminateSession();
    told.afterEnd = another.sessionId ?? null;
    await other.close();
    // As a client that does not know that its session has ended.
    const { status } = await fetch(server.url, { method: 'POST',
      headers: { ...server.headers, 'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': told.otherSessionId },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
    told.ended = status;
  }
  await client.close();
  const { client: next } = await connect();
  told.mark = text(await bash(next, 'cat ~/mark'));
  await next.close();
}

const { client, transport } = await connect();
told.version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null;
told.server = client.getServerVersion();
told.capabilities = client.getServerCapabilities();
told.instructions = client.getInstructions();
if (process.env.SDK_STEPS === 'again') {
  told.mark = text(await bash(client, 'cat ~/mark'));
  await client.close();
} else {
  if (!isModern()) await client.ping();
  await calls(client);
  await lists(client);
  await progress(client);
  await cancel(client);
  await logging(client);
  await again(client, transport);
}
process.stdout.write(JSON.stringify(told) + '\n');
