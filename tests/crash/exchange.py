"""What the mixed load does with the workspace. A worker saves files that it alone writes, under names
that are its own, so at any time it can say what must be there."""

from world import sha


class Exchange:
    """A part of Load, whose world and calls it uses."""

    def _save(self, server, worker):
        shelf = self.world.shelves[worker]
        texts = [text for text in shelf.texts if text.told is not None]
        if not texts:
            return
        if self.world.random.random() < 0.5:
            self._save_one(server, shelf.one, self.world.random.choice(texts))
        else:
            self._save_all(server, shelf, {text.path: text.told for text in texts})

    def _save_one(self, server, target, text):
        target.maybe.append(text.told)
        result = self._answer(self._send(server, "save_to_workspace", sandbox_path=f"~/{text.path}",
                                         workspace_path=target.path))
        self._settle(target, text.told, result)
        self._has_moved(result, {target.path: text.told})

    def _save_all(self, server, shelf, content):
        shelf.all.maybe.append(content)
        result = self._answer(self._send(server, "save_to_workspace", sandbox_path=f"~/{shelf.pattern}",
                                         workspace_path=shelf.all.path))
        self._settle(shelf.all, content, result)
        self._has_moved(result, {f"{shelf.all.path}/{name}": text for name, text in content.items()})

    def _load(self, server, worker):
        shelf = self.world.shelves[worker]
        saved = [which for which in (shelf.one, shelf.all) if which.told]
        if not saved:
            return
        if self.world.random.choice(saved) is shelf.one:
            self._load_these(server, shelf.one.path, shelf.one_back.path,
                             {shelf.one.path: (shelf.one_back, shelf.one.told)})
        else:
            folder = next(iter(shelf.all_back.values())).path.partition("/")[0]
            self._load_these(server, shelf.all.path, folder,
                             {f"{shelf.all.path}/{name}": (shelf.all_back[name], content)
                              for name, content in shelf.all.told.items()})

    def _load_these(self, server, source, target, files):
        """`files`: {path in the workspace: (the text that it becomes, its content)}"""
        for text, content in files.values():
            text.maybe.append(content)
        result = self._answer(self._send(server, "load_from_workspace", workspace_path=source,
                                         sandbox_path=f"~/{target}"))
        for text, content in files.values():
            self._settle(text, content, result)
        self._has_moved(result, {path: content for path, (_, content) in files.items()})

    def _has_moved(self, result, files):
        """`files`: {path in the workspace: content}"""
        if result is None:
            return
        told = {file["workspace_path"]: file["sha256"] for file in result.data["files"]}
        if told != {path: sha(content) for path, content in files.items()}:
            self.wrong.append(f"{sorted(files)} were moved, and it told {told}")
