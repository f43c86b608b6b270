package trace

import (
	"reflect"
	"testing"
)

// Operations are the same if all of their fields are: a writer stores one of
// them for both.
func TestSameOperation(t *testing.T) {
	for i := range reflect.TypeFor[Op]().NumField() {
		var a, b Op
		switch f := reflect.ValueOf(&b).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("x")
		case reflect.Int64:
			f.SetInt(1)
		default:
			f.SetUint(1)
		}
		if name := reflect.TypeFor[Op]().Field(i).Name; a.same(&b) || !b.same(&b) {
			t.Errorf("operations that differ in %s are the same", name)
		}
	}
	a, b := Op{Group: "a"}, Op{Group: "b"}
	if a.same(&b) || !a.same(&a) {
		t.Error("operations with texts of one length are the same")
	}
}
