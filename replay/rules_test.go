package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The files of testdata/rules are recordings written by hand, each with what
// the replay must say of it. A line is an event: who, what, operands. The
// line number is the source line, and ten times it is the time; a `launch`
// line gives dimensions and outcome, `-- want` begins the expected report.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no rule files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, _, _ := strings.Cut(string(b), "-- want\n")
			src := ndjson(t, lines(t, text))
			rep, err := Check(context.Background(), src, Options{})
			if err != nil {
				t.Fatal(err)
			}
			goldenEqual(t, file, text+"-- want\n"+summary(rep))
		})
	}
}

// lines turns the short form into interchange lines.
func lines(t *testing.T, text string) string {
	t.Helper()
	launch := `{"type":"launch","id":0,"kernel":"k","program":"k.cu","arch":"%s","grid":[%s,1,1],"block":[%s,1,1],"cluster":[%s,1,1]}` + "\n"
	dims := map[string]string{"grid": "1", "block": "64", "cluster": "1", "arch": "sm_90", "outcome": "hung"}
	var out strings.Builder
	seq := map[string]int{}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if f[0] == "launch" {
			for _, kv := range f[1:] {
				k, v, _ := strings.Cut(kv, "=")
				dims[k] = v
			}
			continue
		}
		who, op := eventText(f)
		cta, warp := "0", strings.TrimPrefix(who, "w")
		if c, w, ok := strings.Cut(who, "/"); ok {
			cta, warp = strings.TrimPrefix(c, "c"), strings.TrimPrefix(w, "w")
		}
		fmt.Fprintf(&out, `{"type":"event","launch":0,"ns":%d,"cta":%s,"warp":%s,"seq":%d,%s,"line":%d}`+"\n", 10*(n+1), cta, warp, seq[who], op, n+1)
		seq[who]++
	}
	head := fmt.Sprintf(launch, dims["arch"], dims["grid"], dims["block"], dims["cluster"])
	return head + out.String() + fmt.Sprintf(`{"type":"launch_end","launch":0,"outcome":"%s"}`+"\n", dims["outcome"])
}

// eventText is who does an event of the short form, and what it is in an
// interchange line.
func eventText(f []string) (who, text string) {
	who, lanes, ok := strings.Cut(f[0], ":")
	if !ok {
		lanes = "ffffffff"
	}
	text = fmt.Sprintf(`"lanes":"%s","op":"%s"`, lanes, f[1])
	if strings.HasPrefix(f[1], "bar.") && f[1] != "bar.done" && !strings.Contains(strings.Join(f, " "), "aligned=") {
		f = append(f, "aligned=true")
	}
	for _, kv := range f[2:] {
		k, v, _ := strings.Cut(kv, "=")
		if _, err := strconv.ParseInt(v, 10, 64); err != nil && v != "true" && v != "false" || k == "pred" || k == "mask" || k == "token" {
			v = strconv.Quote(v)
		}
		text += fmt.Sprintf(`,"%s":%s`, k, v)
	}
	return who, text
}
