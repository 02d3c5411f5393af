"""The graph, its order, and the small edits that docs/preparation.md names: fresh names, own constants, bypass."""
import heapq


class Value:
    def __init__(self, name, shape=None, data=None, dtype=None):
        self.name, self.shape, self.data, self.dtype = name, shape, data, dtype
        self.producer = None
        self.is_input = False
        self.repeat = None  # what is the same in each step of an LSTM
        if data is not None:
            self.shape, self.dtype = tuple(data.shape), data.dtype

    @property
    def is_constant(self):
        return self.data is not None

    @property
    def is_float_constant(self):
        return self.data is not None and self.data.dtype == "float32"

    def set(self, data):
        self.data, self.shape, self.dtype = data, tuple(data.shape), data.dtype


class Node:
    def __init__(self, name, op, inputs, outputs, attrs, opset=0):
        self.name, self.op, self.inputs, self.outputs, self.attrs, self.opset = name, op, inputs, outputs, attrs, opset
        self.dead = False
        for value in outputs:
            if value is not None:
                value.producer = self


class Graph:
    def __init__(self):
        self.values, self.nodes, self.inputs, self.outputs = [], [], [], []
        self.dropped_softmax = False

    def fresh(self, kind, base, suffix):
        taken = {item.name for item in kind}
        name, i = "%s/%s" % (base, suffix), 2
        while name in taken:
            name, i = "%s/%s_%d" % (base, suffix, i), i + 1
        return name

    def new_value(self, base, suffix, **keys):
        value = Value(self.fresh(self.values, base, suffix), **keys)
        self.values.append(value)
        return value

    def new_node(self, base, suffix, op, inputs, outputs, attrs):
        node = Node(self.fresh(self.nodes, base, suffix), op, inputs, outputs, attrs)
        self.nodes.append(node)
        return node

    def uses(self, value):
        """(node, slot) of every use; (None, i) for a graph output."""
        found = [(n, i) for n in self.nodes if not n.dead for i, v in enumerate(n.inputs) if v is value]
        return found + [(None, i) for i, v in enumerate(self.outputs) if v is value]

    def only_user(self, value):
        uses = self.uses(value)
        return uses[0][0] if len(uses) == 1 else None

    def replace_uses(self, old, new):
        for node in self.nodes:
            node.inputs = [new if v is old else v for v in node.inputs]
        self.outputs = [new if v is old else v for v in self.outputs]

    def kill(self, node):
        node.dead = True
        node.inputs = []
        for value in node.outputs:
            if value is not None and value.producer is node:
                value.producer = None

    def bypass(self, node):
        source, result = node.inputs[0], node.outputs[0]
        if any(v is result for v in self.outputs):
            if source.producer is None or any(v is source for v in self.outputs):
                return False
            source.name, result.name = result.name, source.name
        self.replace_uses(result, source)
        self.kill(node)
        return True

    def own(self, node, slot, data):
        """Gives the constant at a slot new data, in place or as a copy of the node's own."""
        value = node.inputs[slot]
        if len(self.uses(value)) == 1:
            value.set(data)
        else:
            node.inputs[slot] = self.new_value(value.name, node.name, data=data)

    def sort(self):
        live, stack = set(), [v.producer for v in self.outputs if v.producer]
        while stack:
            node = stack.pop()
            if node not in live:
                live.add(node)
                stack.extend(v.producer for v in node.inputs if v is not None and v.producer)
        number = {n: i for i, n in enumerate(self.nodes)}
        missing = {n: sum(v is not None and v.producer is not None for v in n.inputs) for n in live}
        users = {}
        for node in live:
            for v in node.inputs:
                if v is not None and v.producer:
                    users.setdefault(v.producer, []).append(node)
        ready = [number[n] for n in live if missing[n] == 0]
        heapq.heapify(ready)
        order = []
        while ready:
            node = self.nodes[heapq.heappop(ready)]
            order.append(node)
            for user in users.get(node, []):
                missing[user] -= 1
                if missing[user] == 0:
                    heapq.heappush(ready, number[user])
        self.nodes = order
        named = {v for n in order for v in n.inputs + n.outputs if v is not None} | set(self.inputs) | set(self.outputs)
        self.values = [v for v in self.values if v in named]
