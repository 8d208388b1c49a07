"""What ``kubectl kustomize`` and ``helm template`` write goes into ``schedule``; what CI reads comes out."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.kubescheduler.cli.conftest import Run

KUSTOMIZED = """\
apiVersion: v1
data:
  greeting: hello
kind: ConfigMap
metadata:
  labels:
    tier: front
  name: settings-live-k6cm94h6ch
  namespace: shop
---
apiVersion: v1
kind: Service
metadata:
  labels:
    tier: front
  name: web-live
  namespace: shop
spec:
  ports:
  - port: 80
  selector:
    app: web
---
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    tier: front
  name: web-live
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
        tier: front
    spec:
      containers:
      - image: web:1
        name: web
        resources:
          requests:
            cpu: 500m
            memory: 512Mi
"""
"""Written by kubectl 1.32."""

CHART = """\
---
# Source: web/templates/serviceaccount.yaml
apiVersion: v1
kind: ServiceAccount
metadata:
  name: shop-web
  labels:
    helm.sh/chart: web-0.1.0
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: shop
    app.kubernetes.io/managed-by: Helm
automountServiceAccountToken: true
---
# Source: web/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: shop-web
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: shop
spec:
  type: ClusterIP
  ports:
    - port: 80
      targetPort: http
      protocol: TCP
      name: http
  selector:
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: shop
---
# Source: web/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop-web
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/name: web
      app.kubernetes.io/instance: shop
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
        app.kubernetes.io/instance: shop
    spec:
      serviceAccountName: shop-web
      containers:
        - name: web
          image: "web:1.16.0"
          imagePullPolicy: IfNotPresent
          ports:
            - name: http
              containerPort: 80
              protocol: TCP
          resources:
            requests:
              cpu: 2500m
              memory: 2Gi
---
# Source: web/templates/hpa.yaml
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: shop-web
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: shop-web
  minReplicas: 2
  maxReplicas: 4
---
# Source: web/templates/tests/test-connection.yaml
apiVersion: v1
kind: Pod
metadata:
  name: "shop-web-test-connection"
  annotations:
    "helm.sh/hook": test
spec:
  containers:
    - name: wget
      image: busybox
      command: ['wget']
      args: ['shop-web:80']
  restartPolicy: Never
"""
"""In the form of ``helm template shop ./web``."""

WRITTEN = {"kustomize": KUSTOMIZED, "helm": CHART}
PODS = {
    "kustomize": ["shop/web-live-0", "shop/web-live-1", "shop/web-live-2"],
    "helm": ["default/shop-web-test-connection", "default/shop-web-0", "default/shop-web-1"],
}
IGNORED = {"kustomize": ["ConfigMap"], "helm": ["ServiceAccount", "HorizontalPodAutoscaler"]}


RENDERERS = pytest.mark.parametrize("renderer", sorted(WRITTEN))


@RENDERERS
@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_controllers_are_the_pods_that_they_make(schedule: Run, renderer: str, release: str) -> None:
    """In their namespaces and numbers; kinds that no scheduler reads are named."""
    found = schedule("--pod", "-", "--release", release, "-o", "name", stdin=WRITTEN[renderer].encode())
    assert [line.split()[0] for line in found.out.splitlines()] == PODS[renderer]
    assert [line.split('"')[1] for line in found.err.splitlines()] == IGNORED[renderer]


@RENDERERS
def test_annotations(schedule: Run, renderer: str) -> None:
    """What fits nowhere is said once a workload, with the release's message; the exit status is that of the table."""
    found = schedule("--pod", "-", "-o", "github", stdin=WRITTEN[renderer].encode())
    expected = {
        "kustomize": (0, ["kubescheduler schedule: 3 passed"]),
        "helm": (
            1,
            [
                "::error title=default.Deployment/shop-web::shop-web-1: 0/2 nodes are available: 2 Insufficient cpu.",
                "kubescheduler schedule: 2 passed, 1 failed",
            ],
        ),
    }
    assert (found.status, found.out.splitlines()) == expected[renderer]


@RENDERERS
def test_cases_by_workload(schedule: Run, renderer: str) -> None:
    """The class of a case is namespace and workload; --explain fills it with what was decided."""
    found = schedule("--pod", "-", "-o", "junit", "--explain", stdin=WRITTEN[renderer].encode())
    [suite] = ElementTree.fromstring(found.out)
    assert suite.get("name") == "1.16"
    cases = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    names = [pod.partition("/") for pod in PODS[renderer]]
    workload = {"kustomize": "Deployment/web-live", "helm": "Deployment/shop-web"}[renderer]
    assert cases == [
        (f"{namespace}.{'Pod/' + name if 'test' in name else workload}", name) for namespace, _, name in names
    ]
    for case, name in zip(suite.iter("testcase"), PODS[renderer], strict=True):
        assert f"{name}: " in "".join(case.itertext())
