// What sdk.js has inside, for `tools/check_scripts.py`. It is not served: what pages may rely on is in sdk.d.ts.

declare namespace sdk {
  /** What the server writes into the script. */
  interface Served {
    version: string;
    baseUrl: string;
    pyodide: string;
    snapshot: string;
    sources: string;
    lock: Record<string, string>;
  }

  /** The one widget of the page, from initService() to shutdown(). */
  interface Widget {
    config: Partial<chatkey.Config> | null;
    identity: chatkey.Person | null;
    python: Python | null;
    running: Deferred<Python>;
    ready: Deferred<chatkey.Events["ready"]>;
  }

  interface Deferred<T> {
    promise: Promise<T>;
    resolve(value: T): void;
    reject(reason: Error): void;
  }

  /** What `start()` of chatkey_widget.browser.main takes. */
  interface Host {
    baseUrl: string;
    config: Partial<chatkey.Config> | null;
    blocked: [address: string, directive: string][];
    messages: MessageEvent[];
    prefetched: Record<string, Promise<Response>>;
    emit?: (name: keyof chatkey.Events, detail: unknown) => void;
  }

  /** What it returns: Python's functions, each of which is let go of at the end. */
  interface Python {
    logout: Control<void>;
    refreshIdentity: Control<void>;
    open: Control<void>;
    close: Control<void>;
    shutdown: Control<void>;
    debug: Control<chatkey.WidgetDebug>;
  }

  interface Control<T> {
    (...values: unknown[]): T;
    destroy(): void;
  }

  /** The interpreter, as far as it is used here. */
  interface Pyodide {
    pyimport(name: "random"): { seed(): void };
    pyimport(name: string): { start(host: Host): Python };
    unpackArchive(archive: Uint8Array, format: "zip"): void;
  }

  type LoadPyodide = (options: object) => Promise<Pyodide>;

  /** The WebAssembly module that Pyodide runs in, and what it is made with. */
  interface Module {
    HEAPU8: Uint8Array;
    HEAP32: Int32Array;
    __PyRuntime: number;
    __PyEM_EMSCRIPTEN_TRAMPOLINE_OFFSET: number;
  }

  type Receive = (instance: { exports: WebAssembly.Exports }, module: WebAssembly.Module) => void;

  interface ModuleSettings {
    preRun: ((module: Module) => void)[];
    instantiateWasm(imports: WebAssembly.Imports, receive: Receive): object;
  }

  type CreateModule = (settings: ModuleSettings) => Promise<Module>;

  /** What is being downloaded. */
  interface Files {
    arrived: Promise<unknown>;
    blocked: Deferred<never>;
    loader: Promise<{ loadPyodide: LoadPyodide }>;
    runtime: Promise<{ default: CreateModule }>;
    snapshot: Promise<Uint8Array>;
  }

  interface Boot {
    state: "idle" | "starting" | "running" | "failed";
    from: "snapshot" | "sources" | null;
    milliseconds: number | null;
    error: chatkey.Problem | null;
  }
}

interface Window {
  /** What marks a page that has the script. */
  [loaded: symbol]: unknown;
  initService?: (config: chatkey.Config) => chatkey.Handle;
}

interface Document {
  /** Not every browser renders pages ahead. */
  prerendering?: boolean;
}
