"""A Messages endpoint on loopback that plays a script instead of thinking.

Each step is {"text": ...} or {"tools": [{"name": ..., "input": ...}, ...]}; one step answers one
request that offers tools. "{job}" in an input is the job that the request named last, as a model
takes it from a result. What the model was sent is kept in `requests`."""
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ScriptedModel:
    def __init__(self, steps):
        self.steps = list(steps)
        self.requests = []
        self.lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_args):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                model.answer(self, json.loads(body or b"{}"))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, request):
        if "count_tokens" in handler.path:
            return self.send_json(handler, {"input_tokens": len(json.dumps(request)) // 4})
        with self.lock:
            self.requests.append(request)
            offers_tools = any(tool.get("name", "").startswith("mcp__")
                               for tool in request.get("tools") or [])
            step = self.steps.pop(0) if offers_tools and self.steps else {"text": "done"}
            number = len(self.requests)
        jobs = ["", *re.findall(r"job-\d+-[0-9a-f]{4}", json.dumps(request.get("messages")))]
        blocks = [{"type": "tool_use", "id": f"toolu_{number}_{i}", "name": tool["name"],
                   "input": {key: jobs[-1] if value == "{job}" else value
                             for key, value in tool["input"].items()}}
                  for i, tool in enumerate(step.get("tools", []))]
        blocks = blocks or [{"type": "text", "text": step["text"]}]
        reason = "tool_use" if step.get("tools") else "end_turn"
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant",
                   "model": request.get("model", "scripted"), "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if request.get("stream"):
            return self.send_events(handler, message, blocks, reason)
        return self.send_json(handler, {**message, "content": blocks, "stop_reason": reason})

    @staticmethod
    def send_json(handler, value):
        body = json.dumps(value).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    @staticmethod
    def send_events(handler, message, blocks, reason):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()

        def event(kind, **fields):
            data = json.dumps({"type": kind, **fields})
            handler.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())

        event("message_start", message=message)
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                start, delta = {"type": "text", "text": ""}, \
                    {"type": "text_delta", "text": block["text"]}
            else:
                start, delta = {**block, "input": {}}, \
                    {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            event("content_block_start", index=index, content_block=start)
            event("content_block_delta", index=index, delta=delta)
            event("content_block_stop", index=index)
        event("message_delta", delta={"stop_reason": reason, "stop_sequence": None},
              usage={"output_tokens": 1})
        event("message_stop")
        handler.wfile.flush()
        handler.close_connection = True
