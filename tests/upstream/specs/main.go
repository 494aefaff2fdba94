// The program `specs` has the end-to-end specs of Kubernetes on nodes and the lifecycle of pods, and runs those that it is asked for.
//
// It is upstream's own test program with fewer packages, and with one difference: the names of its namespaces are given, so that a defect of
// tests/saboteur can be active in them before they have a pod.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	"k8s.io/kubernetes/test/fixtures"

	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"
)

// Ginkgo reports each failure itself; the exit status is all that is left to do.
type reported struct{}

func (reported) Fail() {}

func main() {
	namespace := flag.String("namespace", "", "the name of each namespace, before a hyphen and its number; by default upstream's own names")
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	if *namespace != "" {
		framework.TestContext.CreateTestingNS = namesake(*namespace)
	}
	framework.TestContext.IPFamily = "ipv4"
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(fixtures.GetTestFixturesFS())
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	if !ginkgo.RunSpecs(reported{}, "upstream", suite, reporter) {
		os.Exit(1)
	}
}

// namesake creates namespaces NAME-1, NAME-2, and so on.
func namesake(name string) framework.CreateTestingNSFn {
	var count atomic.Int32
	return func(ctx context.Context, _ string, client clientset.Interface, labels map[string]string) (*v1.Namespace, error) {
		if labels == nil {
			labels = map[string]string{}
		}
		labels["e2e-run"] = string(framework.RunID)
		object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, count.Add(1)), Labels: labels}}
		created, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return created, framework.WaitForDefaultServiceAccountInNamespace(ctx, client, created.Name)
	}
}
