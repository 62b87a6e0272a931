// Internal types of sdk.js, for `tools/check_scripts.py`. This file is not served: the public types are in sdk.d.ts.

declare namespace sdk {
  /** The values that the server writes into the script. */
  interface Served {
    version: string;
    baseUrl: string;
    pyodide: string;
    snapshot: string;
    snapshotSize: number;
    sources: string;
    lock: Record<string, string>;
  }

  /** The page's only widget, from initService() to shutdown(). */
  interface Widget {
    config: Partial<chatkey.Config> | null;
    identity: chatkey.Person | null;
    python: Python | null;
    /** The sentence for a person whose browser cannot run or load the widget. */
    note: HTMLElement | null;
    /** How often the widget could not be started. */
    failures: number;
    /** Do not start again after a failure. */
    giveUp: () => void;
    running: Deferred<Python>;
    ready: Deferred<chatkey.Events["ready"]>;
  }

  interface Deferred<T> {
    promise: Promise<T>;
    resolve(value: T): void;
    reject(reason: Error): void;
  }

  /** The argument of `start()` in chatkey_widget.browser.main. */
  interface Host {
    baseUrl: string;
    config: Partial<chatkey.Config> | null;
    blocked: [address: string, directive: string][];
    messages: MessageEvent[];
    prefetched: Record<string, Promise<Response>>;
    localBlock(address: string): Promise<"denied" | "prompt" | null>;
    emit?: (name: keyof chatkey.Events, detail: unknown) => void;
  }

  /** The result of `start()`: Python functions, each of which must be destroyed at the end. */
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

  /** The part of the interpreter that is used here. */
  interface Pyodide {
    pyimport(name: "random"): { seed(): void };
    pyimport(name: string): { start(host: Host): Python };
    unpackArchive(archive: Uint8Array, format: "zip"): void;
  }

  type LoadPyodide = (options: object) => Promise<Pyodide>;

  /** The WebAssembly module in which Pyodide runs. */
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

  /** The files that are being downloaded. */
  interface Files {
    blocked: Deferred<never>;
    loader: Promise<{ loadPyodide: LoadPyodide }>;
    runtime: Promise<{ default: CreateModule }>;
    snapshot: Promise<Uint8Array>;
    wasm: Promise<WebAssembly.Module>;
  }

  interface Boot {
    state: "idle" | "starting" | "running" | "failed";
    from: "snapshot" | "sources" | null;
    milliseconds: number | null;
    error: chatkey.Problem | null;
  }
}

interface Window {
  /** Marks a page that has loaded the script. */
  [loaded: symbol]: unknown;
  initService?: (config: chatkey.Config) => chatkey.Handle;
}

interface Document {
  /** Missing in browsers that do not prerender pages. */
  prerendering?: boolean;
}
