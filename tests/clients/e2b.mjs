// Drives the official client of E2B: node e2b.mjs FOLDER-OF-THE-CLIENTS CASE. Prints one line of JSON: what
// the case saw. E2B_API_KEY, E2B_API_URL and E2B_SANDBOX_URL lead it to the emulator.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, name] = process.argv.slice(2)
const found = createRequire(`${folder}/package.json`).resolve('e2b')
const { Sandbox, CommandExitError } = await import(pathToFileURL(found))

const until = async (test) => {
  for (let turn = 0; turn < 400 && !(await test()); turn++) await new Promise((done) => setTimeout(done, 25))
}
const nameOf = (error) => error.constructor.name
const failed = (promise) => promise.then(() => 'nothing', nameOf)

const cases = {
  async run(box) {
    const told = []
    const hi = await box.commands.run('echo hi; echo err >&2; echo $FOO; pwd; id -un', {
      envs: { FOO: 'bar baz' }, cwd: '/tmp', onStdout: (text) => told.push(text) })
    const root = await box.commands.run('id -u', { user: 'root' })
    const bad = await box.commands.run('echo out; exit 3').catch((error) => error)
    return { stdout: hi.stdout, stderr: hi.stderr, code: hi.exitCode, told: told.join(''), root: root.stdout,
      exit: bad instanceof CommandExitError && { code: bad.exitCode, stdout: bad.stdout },
      late: await failed(box.commands.run('sleep 9', { timeoutMs: 500 })),
      where: await failed(box.commands.run('true', { cwd: '/not/there' })),
      created: (await box.commands.run('echo $MADE $E2B_SANDBOX_ID')).stdout.trim() === `of it ${box.sandboxId}` }
  },

  async background(box) {
    let text = ''
    const cat = await box.commands.run('cat; echo done', { background: true, stdin: true,
      onStdout: (more) => { text += more } })
    await box.commands.sendStdin(cat.pid, 'ping\n')
    await until(() => text.includes('ping'))
    const listed = (await box.commands.list()).some((one) => one.pid === cat.pid)
    await box.commands.closeStdin(cat.pid)
    const ended = await cat.wait()
    const sleeper = await box.commands.run('sleep 60', { background: true })
    const again = await box.commands.connect(sleeper.pid)
    const killed = await sleeper.kill()
    return { text, listed, ended: ended.exitCode, killed, again: await failed(again.wait()),
      twice: await box.commands.kill(sleeper.pid), left: (await box.commands.list()).length }
  },

  async files(box) {
    const bytes = Uint8Array.from({ length: 300000 }, (_, at) => at * 7 % 256)
    const written = await box.files.write('a/b.txt', 'hello\n')
    await box.files.write([{ path: 'c.bin', data: bytes.buffer }, { path: '/tmp/d.txt', data: 'd' }])
    await box.files.write('packed', 'p'.repeat(100000), { useOctetStream: true, gzip: true })
    const back = await box.files.read('c.bin', { format: 'bytes' })
    const entries = await box.files.list('.', { depth: 2 })
    const info = await box.files.getInfo('a/b.txt')
    const moved = await box.files.rename('a/b.txt', 'moved.txt')
    const made = [await box.files.makeDir('new/er'), await box.files.makeDir('new/er')]
    await box.files.remove('a')
    return { path: written.path, text: await box.files.read('moved.txt'), packed: (await box.files.read('packed')).length,
      same: back.length === bytes.length && back.every((byte, at) => byte === bytes[at]),
      names: entries.map((entry) => entry.path).filter((path) => !path.includes('/.')).sort(),
      info: { size: info.size, owner: info.owner, permissions: info.permissions, type: info.type },
      moved: moved.path, made, there: [await box.files.exists('moved.txt'), await box.files.exists('a')],
      missing: await failed(box.files.read('none')) }
  },

  async watch(box) {
    const events = []
    await box.files.makeDir('seen')
    const handle = await box.files.watchDir('seen', (event) => events.push(`${event.type} ${event.name}`),
      { recursive: true })
    await box.files.write('seen/one', '1')
    await until(() => events.some((event) => event === 'write one'))
    await box.files.makeDir('seen/deep')
    await until(() => events.some((event) => event === 'create deep'))
    await box.commands.run('echo 2 >seen/deep/two; rm seen/one')
    await until(() => events.some((event) => event === 'remove one'))
    await handle.stop()
    return { events: [...new Set(events)] }
  },

  async lifecycle(box) {
    await box.files.write('kept', 'of before')
    const job = await box.commands.run('for i in $(seq 600); do echo $i >tick; sleep 0.1; done',
      { background: true, timeoutMs: 0 })
    const gone = failed(job.wait())
    const seen = { running: await box.isRunning(), paused: await box.pause(), twice: await box.pause() }
    seen.state = (await Sandbox.getInfo(box.sandboxId)).state
    seen.asleep = await failed(box.commands.run('true'))
    const back = await Sandbox.connect(box.sandboxId, { timeoutMs: 200_000 })
    seen.same = back.sandboxId === box.sandboxId
    seen.kept = await back.files.read('kept')
    seen.stream = await gone
    const before = Number(await back.files.read('tick'))
    await until(async () => Number(await back.files.read('tick')) > before)
    seen.goesOn = Number(await back.files.read('tick')) > before
    await back.setTimeout(90_000)
    const left = (new Date((await back.getInfo()).endAt) - Date.now()) / 1000
    seen.limit = left > 80 && left <= 90
    seen.killed = [await back.kill(), await back.kill()]
    seen.after = [await back.isRunning(), await failed(Sandbox.connect(box.sandboxId)),
      await failed(back.commands.run('true'))]
    return seen
  },

  async metadata(box) {
    const value = 'b c&d=e%f+g'
    const others = [await Sandbox.create({ metadata: { key: value } }), await Sandbox.create({ metadata: { key: 'x' } })]
    const ids = async (query) => {
      const pages = Sandbox.list({ query, limit: 1 })
      const all = []
      while (pages.hasNext) all.push(...(await pages.nextItems()).map((one) => one.sandboxId))
      return all
    }
    const info = (await ids({ metadata: { key: value } })).map((id) => others.findIndex((one) => one.sandboxId === id))
    await others[1].pause()
    const seen = { info, all: (await ids()).length, paused: (await ids({ state: ['paused'] })).length,
      kept: (await others[0].getInfo()).metadata }
    for (const other of others) await other.kill()
    return { ...seen, after: (await ids()).length }
  },

  async limit() {
    const short = await Sandbox.create({ timeoutMs: 1000 })
    const sleeps = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: 'pause' } })
    const cut = await failed(short.commands.run('sleep 30', { timeoutMs: 0 }))
    await until(async () => (await sleeps.getInfo()).state === 'paused')
    const seen = { cut, gone: await failed(Sandbox.getInfo(short.sandboxId)), state: (await sleeps.getInfo()).state }
    await sleeps.kill()
    return seen
  },
}

const box = await Sandbox.create({ timeoutMs: 120_000, envs: { MADE: 'of it' } })
try {
  console.log(JSON.stringify(await cases[name](box)))
} finally {
  await box.kill()
}
