// readers.mjs - table files as independent readers see them, one JSON value a line, for tests to compare.
//
//   node readers.mjs install                           puts the packages in their folder, unless they are there; prints the folder
//   node readers.mjs rows duckdb|hyparquet|arrow|avsc FILE…  a line a row, an object in the order of the columns
//   node readers.mjs meta FILE…                        a line a file: its whole Parquet footer and page index, by hyparquet
//   node readers.mjs sql < LINES                       {"sql": …, "params": […]} a line in, the rows or {"error": …} out (DuckDB)
//   node readers.mjs parse < LINES                     {"engine": "hive" | "spark" | "trino", "sql": …} a line in, a list of what its
//                                                      grammar (dt-sql-parser) refuses out; {"error": …} where node cannot load that
//
// Integers are digits, however long; times microseconds since 1970 UTC, as integers; NaN and infinities texts; bytes
// {"base64": …}; what is absent null. The first file that cannot be read ends the program: its name and the reason, status 1.
// Packages live in $TROTLINE_READERS, else $XDG_CACHE_HOME/trotline-test-readers, else $TROTLINE_BUILD/tests/readers. `install` ends
// with 77 where npm cannot get them, and with 1 when $TROTLINE_TEST_READERS is "required".
import module, { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { inflateRaw } from 'node:zlib'

const packages = ['@duckdb/node-api@1.5.6-r.1', 'hyparquet@1.31.5', 'hyparquet-compressors@1.1.2', 'parquet-wasm@0.8.0',
  'apache-arrow@21.2.0', 'avsc@5.7.9', 'dt-sql-parser@4.5.1']
const { TROTLINE_READERS, XDG_CACHE_HOME, TROTLINE_BUILD, TROTLINE_TEST_READERS } = process.env
const folder = resolve(TROTLINE_READERS || (XDG_CACHE_HOME ? XDG_CACHE_HOME + '/trotline-test-readers' : (TROTLINE_BUILD || '.') + '/tests/readers'))
const need = createRequire(folder + '/package.json')
const load = name => import(pathToFileURL(need.resolve(name)).href)

function json(value) {
  switch (typeof value) {
    case 'undefined': return 'null'
    case 'bigint': return String(value)
    case 'number': return Number.isFinite(value) ? (Object.is(value, -0) ? '-0.0' : JSON.stringify(value)) : JSON.stringify(String(value))
    case 'object': break
    default: return JSON.stringify(value)
  }
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return JSON.stringify({ base64: Buffer.from(value).toString('base64') })
  if (Array.isArray(value)) return '[' + value.map(json).join(',') + ']'
  return '{' + Object.entries(value).map(([key, one]) => JSON.stringify(key) + ':' + json(one)).join(',') + '}'
}

function print(value) {
  process.stdout.write(json(value) + '\n')
}

// A column that says it is text must be text: the readers' own decoders put U+FFFD where it is none, or drop U+FEFF.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const text = bytes => bytes && decoder.decode(bytes)

function crc32(bytes) {
  let sum = ~0
  for (const byte of bytes) {
    sum ^= byte
    for (let i = 0; i < 8; i++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return ~sum >>> 0
}

async function openDuckdb() {
  const { DuckDBInstance } = need('@duckdb/node-api')
  const connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect()
  await connection.run("set TimeZone = 'UTC'")
  const simple = value => {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value.items)) return value.items.map(simple)
    if (typeof value.micros === 'bigint') return value.micros
    if (value.bytes instanceof Uint8Array) return value.bytes
    if (value.entries) return Object.fromEntries(Object.entries(value.entries).map(([key, one]) => [key, simple(one)]))
    return String(value)
  }
  return async (sql, params) => {
    const answer = await connection.runAndReadAll(sql, params)
    const names = answer.columnNames()
    return answer.getRows().map(row => Object.fromEntries(row.map((value, i) => [names[i], simple(value)])))
  }
}

const hyparquetParsers = {
  timestampFromMilliseconds: v => v * 1000n, timestampFromMicroseconds: v => v, timestampFromNanoseconds: v => v / 1000n,
  dateFromDays: v => v, stringFromBytes: bytes => { try { return text(bytes) } catch { return bytes } },
}

const readers = {
  async duckdb() {
    const query = await openDuckdb()
    return async file => {
      const source = `read_parquet('${file.replaceAll("'", "''")}', hive_partitioning = false)`
      const columns = await query(`describe select * from ${source}`)
      const texts = columns.filter(c => c.column_type === 'VARCHAR').map(c => c.column_name)
      const list = columns.map(c => texts.includes(c.column_name) ? `encode("${c.column_name}") as "${c.column_name}"` : `"${c.column_name}"`)
      const rows = await query(`select ${list.join(', ')} from ${source}`)
      for (const row of rows) for (const name of texts) row[name] = text(row[name])
      return rows
    }
  },
  async hyparquet() {
    const { parquetReadObjects, asyncBufferFromFile } = await load('hyparquet')
    const { compressors } = await load('hyparquet-compressors')
    return async file => parquetReadObjects({ file: await asyncBufferFromFile(file), compressors, parsers: hyparquetParsers, utf8: false })
  },
  async arrow() {    // arrow-rs, compiled to WebAssembly
    const wasm = need('parquet-wasm')
    const { tableFromIPC, Type } = need('apache-arrow')
    const column = vector => {
      if (vector.type.typeId === Type.List) return Array.from(vector, one => one && Array.from(one))
      if (vector.type.typeId !== Type.Timestamp) return Array.from(vector)
      return vector.data.flatMap(part => Array.from({ length: part.length }, (_, i) => part.getValid(i) ? part.values[i] : null))
    }
    return async file => {
      const table = tableFromIPC(wasm.readParquet(new Uint8Array(readFileSync(file))).intoIPCStream())
      const columns = table.schema.fields.map(field => [field.name, column(table.getChild(field.name))])
      return Array.from({ length: table.numRows }, (_, i) => Object.fromEntries(columns.map(([name, values]) => [name, values[i]])))
    }
  },
  async avsc() {
    const avro = need('avsc')
    const long = avro.types.LongType.__with({
      fromBuffer: buffer => buffer.readBigInt64LE(),
      toBuffer: value => { const buffer = Buffer.alloc(8); buffer.writeBigInt64LE(value); return buffer },
      fromJSON: BigInt, toJSON: String, isValid: value => typeof value === 'bigint',
      compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0),
    })
    const typeHook = schema => (schema === 'long' || schema?.type === 'long' ? long : undefined)
    const parseHook = schema => avro.Type.forSchema(schema, { typeHook, wrapUnions: false })
    const { decompressSnappy, decompressZstd } = await load('hyparquet-compressors')
    const unpack = work => (data, done) => { try { done(null, Buffer.from(work(data))) } catch (e) { done(e) } }
    const codecs = {
      null: (data, done) => done(null, data), deflate: inflateRaw, zstandard: unpack(data => decompressZstd(data)),
      snappy: unpack(data => {    // avsc leaves the checksum behind the block to us, the length before it to hysnappy
        let length = 0, at = 0
        for (let byte = 128; byte & 128; at++) length += ((byte = data[at]) & 127) * 2 ** (7 * at)
        const plain = length ? decompressSnappy(data.subarray(0, -4), length) : new Uint8Array(0)
        if (crc32(plain) !== data.readUInt32BE(data.length - 4)) throw new Error('the checksum of a Snappy block is wrong')
        return plain
      }),
    }
    return file => new Promise((done, failed) => {
      const rows = []
      avro.createFileDecoder(file, { codecs, parseHook }).on('data', row => rows.push({ ...row })).on('error', failed).on('end', () => done(rows))
    })
  },
}

async function meta(file) {
  const { parquetMetadataAsync, asyncBufferFromFile, readColumnIndex, readOffsetIndex } = await load('hyparquet')
  const buffer = await asyncBufferFromFile(file)
  const footer = await parquetMetadataAsync(buffer, { parsers: hyparquetParsers })
  for (const group of footer.row_groups)
    for (const chunk of group.columns) {
      const reader = async (at, len) => ({ view: new DataView(await buffer.slice(Number(at), Number(at) + len)), offset: 0 })
      const leaf = footer.schema.find(e => e.name === chunk.meta_data.path_in_schema.at(-1) && e.type)
      if (chunk.column_index_offset) {
        const at = await reader(chunk.column_index_offset, chunk.column_index_length)
        try {
          chunk.column_index = readColumnIndex(at, leaf, hyparquetParsers)
        } catch (e) {    // it asks for eight bytes of the empty bounds that a page of nulls has
          chunk.column_index = { error: e.message }
        }
      }
      chunk.offset_index = readOffsetIndex(await reader(chunk.offset_index_offset, chunk.offset_index_length))
    }
  return { file, ...footer }
}

async function sql() {
  const query = await openDuckdb()
  for await (const line of createInterface({ input: process.stdin }))
    if (line.trim()) {
      const { sql: text, params } = JSON.parse(line)
      print(await query(text, params).catch(e => ({ error: e.message })))
    }
}

// Its modules are written for bundlers: names without endings, folders for their index.
const endings = `export const resolve = async (name, context, next) => {
  try { return await next(name, context) } catch (e) {
    for (const end of ['.js', '/index.js']) try { return await next(name + end, context) } catch { /* the next */ }
    throw e
  }
}`

async function parse() {
  if (!module.register) return print({ error: 'this node cannot load dt-sql-parser' })
  module.register('data:text/javascript,' + encodeURIComponent(endings))
  let grammars
  try {
    grammars = await load('dt-sql-parser')
  } catch (e) {    // node 18 takes its files for another kind of module
    return print({ error: `this node cannot load dt-sql-parser: ${e.message}` })
  }
  const { HiveSQL, SparkSQL, TrinoSQL } = grammars
  const engines = { hive: new HiveSQL(), spark: new SparkSQL(), trino: new TrinoSQL() }
  for await (const line of createInterface({ input: process.stdin })) {
    const { engine, sql: text } = JSON.parse(line)
    print(engines[engine].validate(text).map(w => `${w.startLine}:${w.startColumn}: ${w.message}`))
  }
}

// Whole or not at all, for two tests may begin at once: made beside its place and moved there.
function install() {
  const whole = packages.every(p => existsSync(folder + '/node_modules/' + p.slice(0, p.lastIndexOf('@'))))
  if (!whole) {
    mkdirSync(folder + '/..', { recursive: true })
    const fresh = mkdtempSync(folder + '-')
    const npm = spawnSync('npm', ['install', '--prefix', fresh, '--no-audit', '--no-fund', '--no-save', ...packages],
      { timeout: 300000, encoding: 'utf8' })
    if (npm.status === 0) {
      const old = mkdtempSync(folder + '-')    // of other packages
      try { renameSync(folder, old + '/was') } catch { /* there was none */ }
      try { renameSync(fresh, folder) } catch { /* another test was first */ }
      rmSync(old, { recursive: true, force: true })
    }
    rmSync(fresh, { recursive: true, force: true })
    if (npm.status !== 0) {
      process.stderr.write(`npm cannot get the readers: ${(npm.error?.message || npm.stderr || '').trim().split('\n').slice(0, 3).join('; ')}\n`)
      process.exit(TROTLINE_TEST_READERS === 'required' ? 1 : 77)
    }
  }
  process.stdout.write(folder + '\n')
}

async function main(verb, args) {
  if (verb === 'install') return install()
  if (verb === 'sql') return sql()
  if (verb === 'parse') return parse()
  const one = verb === 'meta' ? async file => [await meta(file)] : verb === 'rows' && readers[args[0]] && await readers[args.shift()]()
  if (!one) throw new Error('usage: readers.mjs install | rows READER FILE… | meta FILE… | sql | parse')
  for (const file of args)
    for (const row of await one(file).catch(e => { throw new Error(`${file}: ${e.message}`) })) print(row)
}

// DuckDB's threads would keep the program alive.
main(process.argv[2], process.argv.slice(3)).then(
  () => process.stdout.write('', () => process.exit(0)),
  e => process.stderr.write(e.message + '\n', () => process.exit(1)))
